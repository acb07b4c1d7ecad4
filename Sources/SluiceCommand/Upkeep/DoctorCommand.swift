internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check store, versions, sockets, configuration and permissions.",
        discussion: """
            Changes nothing, and may run beside everything else. It also names the causes for which commands wait, processes \
            that make no progress, and a disk without room. Exits with 70 where a shard or a collection is corrupt, and \
            with 1 for another warning.

            With --mend it sets right what the recount of flows, ordering keys and counts finds, in one transaction for each \
            shard, and says what it has changed: a flow or a command that waits for nothing then goes on. Messages between \
            shards that a restore has lost are posted again. It changes nothing where the numbers are right, and never \
            mends the file of a shard.

            EXAMPLES
              sluice doctor
              sluice doctor --mend
              sluice doctor --json | jq 'select(.state != "ok")'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Flag(name: .long, help: "Set right the numbers of flows, ordering keys and counts that are wrong.")
    var mend = false

    func run() async throws {
        SignalHandling.exits()
        let directory = data.directory()
        let limits = await QueueCondition.uploadLimits(data, directory)
        let location = try data.location()
        let others =
            await ConfigurationCheck(data).findings() + StoredDataCheck(directory).findings()
            + SpooledDataCheck(location, limits, try? ConfiguredRoutes.read(data)).findings() + condition()
        let worst = HealthCheck(location, mends: mend).run(others: others) { finding in
            if print.json {
                Output.line(finding.json.bytes)
            } else {
                Output.line(
                    TerminalText.fit(finding.state.rawValue, width: 8) + TerminalText.fit(finding.check, width: 14)
                        + finding.sentence)
            }
            Output.flush()
        }
        switch worst {
        case .ok, .note: return
        case .warning: throw ExitError(.failed, nil)
        case .broken: throw ExitError(.internalError, nil)
        }
    }

    /// The causes for which commands do not start; nothing where there is no store, which another check reports.
    private func condition() async -> [Finding] {
        do {
            guard let queue = try? data.queue() else { return [] }
            let condition = try await QueueCondition.read(data, queue)
            return condition.findings(now: queue.now)
        } catch {
            return [Finding("waiting", .warning, ExitError(error).message ?? "\(error)")]
        }
    }
}
