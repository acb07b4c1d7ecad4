internal import ArgumentParser
internal import Commands
internal import Console
internal import Store

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check store, versions, sockets and permissions.",
        discussion: """
            Reads only; it may run beside everything else. Exits with 70 where a shard is corrupt, and with 1 where \
            something else wants attention.

            EXAMPLES
              sluice doctor
              sluice doctor --json | jq 'select(.state != "ok")'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        Interrupt.exits()
        var checkup = Checkup(directory: data.directory())
        checkup.run { finding in
            if print.json {
                Output.line(finding.json.bytes)
            } else {
                Output.line(
                    TerminalText.fit(finding.state.rawValue, width: 8) + TerminalText.fit(finding.name, width: 14)
                        + finding.sentence)
            }
            Output.flush()
        }
        switch checkup.worst {
        case .ok, .note: return
        case .warning: throw Complaint(.failed, nil)
        case .broken: throw Complaint(.internalError, nil)
        }
    }
}
