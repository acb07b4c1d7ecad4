internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Glibc
internal import HTTPClient
internal import Inspection
internal import Operations
internal import Store

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check store, versions, sockets, configuration and permissions.",
        discussion: """
            Changes nothing, and may run beside everything else. Exits with 70 where a shard or a collection is corrupt, and \
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
        let others =
            await configuration(directory) + schedules() + routes() + StoredDataCheck(directory).findings()
            + SpooledDataCheck(directory).findings()
        let worst = HealthCheck(directory: directory, mends: mend).run(others: others) { finding in
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

    /// Whether a coordinator could apply the schedules of sluice.yaml; nothing where it has none.
    private func schedules() async -> [Finding] {
        do {
            guard let schedules = try ConfiguredSchedules(data), !schedules.entries.isEmpty else { return [] }
            // Without a store the types of commands are not known.
            if let (_, store) = try? data.store() { try await schedules.check(store) }
            return [Finding("schedules", .ok, "sluice.yaml has \(schedules.entries.count), which can be used")]
        } catch {
            return [Finding("schedules", .warning, ExitError(error).message ?? "\(error)")]
        }
    }

    /// Whether uploads could take the routes of sluice.yaml; nothing where it has none.
    private func routes() async -> [Finding] {
        do {
            let routes = try ConfiguredRoutes.read(data).routes
            guard !routes.isEmpty else { return [] }
            var registries = SubmitRegistries(data)
            let check = RouteCheck(
                registry: await registries.lookup(for: routes.flatMap(\.types)), types: RouteCheck.knownTypes(data),
                webhooks: await RouteCheck.webhooks(data))
            let problems = try check.problems(of: routes).map { Finding("routes", .warning, $0) }
            return problems.isEmpty
                ? [Finding("routes", .ok, "sluice.yaml has \(routes.count), which can be used")] : problems
        } catch {
            return [Finding("routes", .warning, ExitError(error).message ?? "\(error)")]
        }
    }

    /// The user that workers run as: each refuses a directory of another user.
    private static func owner(of directory: DataDirectory) -> UInt32 {
        var facts = stat()
        return stat(directory.path, &facts) == 0 ? facts.st_uid : geteuid()
    }

    /// Whether a worker could start with the configuration, and the proxies of its requests.
    private func configuration(_ directory: DataDirectory) async -> [Finding] {
        do {
            let uploads = try await ConfigurationFile(data, directory).uploads()
            let exec = uploads.exec
            return Finding.configuration(path: data.config, proxies: uploads.http.client.proxies.summary)
                + Finding.programs(
                    isEnabled: exec.isEnabled, names: exec.names,
                    problems: exec.isEnabled ? exec.problems(worker: Self.owner(of: directory)) : [])
        } catch {
            return [Finding.configuration(problem: (error as? ExitError)?.message ?? "\(error)")]
        }
    }
}
