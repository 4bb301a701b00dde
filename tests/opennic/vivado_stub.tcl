# Runs a Vivado script under plain tclsh: every command that Tcl does not know is recorded and answered as
# Vivado would, as far as the scripts ask. Arguments: script, record, answers, then the script's own.
#
# A property reads as it was set; else as `answers` has it, a list of {object property value}. Its property
# LIST names all that an object has.
lassign $argv script record answers
set argv [lrange $argv 3 end]
set argc [llength $argv]
clock format 0

set stub_record [open $record w]
set stub_answers [open $answers]
foreach one [read $stub_answers] {
    lassign $one object property value
    set stub_property($object,$property) $value
}
close $stub_answers

proc get_ips {args} { return [lindex $args end] }
proc list_property {object} { return $::stub_property($object,LIST) }
proc get_files {args} { return [lindex $args end] }
proc get_runs {args} { return [lindex $args end] }
proc current_project {} { return project }
proc current_fileset {} { return sources_1 }
proc current_run {args} { return impl_1 }

proc set_property {args} {
    puts $::stub_record [list set_property {*}$args]
    set object [lindex $args end]
    set pairs [expr {[lindex $args 0] eq "-dict" ? [lindex $args 1] : [lrange $args 0 1]}]
    foreach {property value} $pairs {
        if {![info exists ::stub_property($object,$property)]} {
            set ::stub_property($object,$property) $value
        }
    }
}

proc get_property {property object} {
    puts $::stub_record [list get_property $property $object]
    if {[info exists ::stub_property($object,$property)]} {
        return $::stub_property($object,$property)
    }
    return ""
}

proc unknown {name args} {
    puts $::stub_record [list $name {*}$args]
    return ""
}

proc stub_leave {code} {
    close $::stub_record
    ::stub_exit $code
}
rename exit stub_exit
proc exit {{code 0}} { puts $::stub_record [list exit $code]; stub_leave $code }

if {[catch {source $script} message]} {
    puts stderr $message
    stub_leave 1
}
stub_leave 0
