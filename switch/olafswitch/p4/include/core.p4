// The declarations that every P4_16 architecture builds on (P4_16 specification, appendix on core.p4).
// Programs test this macro to learn whether the file has been included.
#ifndef _CORE_P4_
#define _CORE_P4_

error {
    NoError,
    PacketTooShort,         // the packet ended before what was to be extracted
    NoMatch,                // no case of a select matched
    StackOutOfBounds,       // no such element in a header stack
    HeaderTooShort,         // more bits than a varbit field holds
    ParserTimeout,          // the parser went round too often
    ParserInvalidArgument   // an extern of the parser cannot work with this value
}

extern packet_in {
    void extract<T>(out T hdr);
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    T lookahead<T>();
    void advance(in bit<32> sizeInBits);
    bit<32> length();
}

extern packet_out {
    void emit<T>(in T hdr);
}

extern void verify(in bool check, in error toSignal);

extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

@noWarn("unused")
action NoAction() { }

match_kind {
    exact,
    ternary,
    lpm
}

#endif
