internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check the configuration.",
        discussion: """
            EXAMPLES
              sluice config check
            """,
        subcommands: [ConfigCheckCommand.self])
}

struct ConfigCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Read the configuration as the processes would, and say what they would refuse.",
        discussion: """
            Reads sluice.yaml and the environment variables that begin with SLUICE_: the keys, the files that they name, \
            programs, proxies, schedules and routes. It starts nothing and changes nothing, and needs no data directory. \
            Exits with 78 where a process would not start, or would not do what the file says.

            EXAMPLES
              sluice config check
              sluice config check --config new.yaml && sudo install new.yaml /var/lib/sluice/sluice.yaml
              sluice config check --json | jq 'select(.state != "ok")'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() async throws {
        let findings = await ConfigurationCheck(data).findings()
        for finding in findings {
            if print.json {
                Output.line(finding.json.bytes)
            } else {
                Output.line(
                    TerminalText.fit(finding.state.rawValue, width: 8) + TerminalText.fit(finding.check, width: 14)
                        + finding.sentence)
            }
        }
        if findings.contains(where: { $0.state >= .warning }) { throw ExitError(.configuration, nil) }
    }
}
