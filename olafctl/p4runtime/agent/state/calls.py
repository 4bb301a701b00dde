"""Actions of requests: checked against the P4Info (P4Runtime §9.1.2)."""

from olafctl.p4runtime import bytestrings
from olafctl.p4runtime.agent.state.refusal import denied, invalid
from olafctl.p4runtime.dataplane import ActionCall
from olafctl.p4runtime.plain import CallRequest
from olafctl.p4runtime.program import Action, Scope, Table


class CallReader:
    """Reads the action calls that one table allows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._parameters = {
            action.id: {
                param.id: (place, param.bits, param.name) for place, param in enumerate(action.params)
            }
            for action in table.actions.values()
        }

    def entry_call(self, request: CallRequest) -> ActionCall:
        """The action of an entry, a member or a one-shot."""
        call = self._call(request)
        if self._table.scopes[call.action_id] is Scope.DEFAULT_ONLY:
            raise denied(f"{self._shown(call.action_id)} may only be the default action")
        return call

    def default_call(self, request: CallRequest) -> ActionCall:
        call = self._call(request)
        if self._table.scopes[call.action_id] is Scope.TABLE_ONLY:
            raise denied(f"{self._shown(call.action_id)} may not be the default action")
        return call

    def _call(self, request: CallRequest) -> ActionCall:
        action_id, params = request
        parameters = self._parameters.get(action_id)
        if parameters is None:
            raise invalid(f"table {self._table.name} has no action {action_id:#x}")
        values = [-1] * len(parameters)
        for param_id, string in params:
            found = parameters.get(param_id)
            if found is None:
                raise invalid(f"{self._shown(action_id)} has no parameter {param_id}")
            place, bits, name = found
            if values[place] >= 0:
                raise invalid(f"{self._shown(action_id)}: parameter {name} is given twice")
            try:
                values[place] = bytestrings.decode(string, bits)
            except ValueError as error:
                raise invalid(f"{self._shown(action_id)}: parameter {name}: {error}") from None
        if -1 in values:
            missing = self._action(action_id).params[values.index(-1)].name
            raise invalid(f"{self._shown(action_id)}: parameter {missing} is missing")
        return ActionCall(action_id, tuple(values))

    def _action(self, action_id: int) -> Action:
        return self._table.actions[action_id]

    def _shown(self, action_id: int) -> str:
        return f"table {self._table.name}: action {self._action(action_id).name}"
