internal import ArgumentParser
internal import Commands
internal import Console
internal import HTTPClient
internal import Operations
internal import Store

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check store, versions, sockets, configuration and permissions.",
        discussion: """
            Reads only; it may run beside everything else. Exits with 70 where a shard is corrupt, and with 1 where \
            something else wants attention.

            EXAMPLES
              sluice doctor
              sluice doctor --json | jq 'select(.state != "ok")'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() async throws {
        SignalHandling.exits()
        let directory = data.directory()
        var healthCheck = HealthCheck(directory: directory)
        healthCheck.run(also: await configuration(directory)) { finding in
            if print.json {
                Output.line(finding.json.bytes)
            } else {
                Output.line(
                    TerminalText.fit(finding.state.rawValue, width: 8) + TerminalText.fit(finding.name, width: 14)
                        + finding.sentence)
            }
            Output.flush()
        }
        switch healthCheck.worst {
        case .ok, .note: return
        case .warning: throw ExitError(.failed, nil)
        case .broken: throw ExitError(.internalError, nil)
        }
    }

    /// Whether a worker could start with the configuration, and where its requests would go.
    private func configuration(_ directory: DataDirectory) async -> [HealthCheck.Finding] {
        do {
            let uploads = try await ConfigurationFile(data, directory).uploads()
            let proxies = uploads.http.client.proxies.summary
            return [
                HealthCheck.Finding(
                    name: "configuration", state: .ok,
                    sentence: "can be used" + (data.config.map { ": \($0)" } ?? "")),
                HealthCheck.Finding(
                    name: "proxy", state: proxies == nil ? .ok : .note,
                    sentence: proxies.map { "requests go through \($0)" } ?? "requests go without a proxy"),
            ]
        } catch {
            return [
                HealthCheck.Finding(
                    name: "configuration", state: .warning, sentence: (error as? ExitError)?.message ?? "\(error)")
            ]
        }
    }
}
