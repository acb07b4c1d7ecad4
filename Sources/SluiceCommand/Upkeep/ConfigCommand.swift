internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Console
internal import Door
internal import Exec
internal import Glibc
internal import HTTPClient
internal import Host
internal import Queue
internal import Transfers

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

/// The configuration as the processes read it: keys and variables, files that it names, programs, schedules and routes.
struct ConfigurationCheck {
    private let data: DataOptions
    private let directory: DataDirectory

    init(_ data: DataOptions) {
        self.data = data
        directory = data.directory()
    }

    func findings() async -> [Finding] { await configuration() + schedules() + routes() }

    /// Whether a coordinator could apply the schedules of sluice.yaml; nothing where it has none.
    private func schedules() async -> [Finding] {
        do {
            guard let schedules = try ConfiguredSchedules(data), !schedules.entries.isEmpty else { return [] }
            try await schedules.refuseWrong()
            // Without a store the types of commands are not known.
            if let queue = try? data.queue() { try await schedules.check(queue) }
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
            let registries = SubmitRegistries(data)
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

    /// The hook of uploads, and whether its credential can be read; nothing where there is none.
    private static func hook(_ url: ResourceURL?, _ credentials: CredentialStore) -> [Finding] {
        guard let url else { return [] }
        let check = "upload hook"
        guard let credential = credentials[url.destination] else {
            return [Finding(check, .ok, "the door asks \(url.displayText) before each upload, without a credential")]
        }
        do throws(SecretError) { _ = try credential.header() } catch {
            return [Finding(check, .warning, "the door cannot ask \(url.displayText): \(error)")]
        }
        return [
            Finding(check, .ok, "the door asks \(url.displayText) before each upload, with \(credential.headerName)")
        ]
    }

    /// Where the access keys of S3 come from. A key that this process cannot read may be one that a worker can, whose user
    /// and environment are others.
    private static func accessKeys(_ credentials: CredentialStore) -> [Finding] {
        credentials.accessKeySources.map { endpoint, key in
            do throws(SecretError) {
                _ = try key.read()
                return Finding("s3 keys", .ok, "\(endpoint): \(key)")
            } catch {
                return Finding("s3 keys", .note, "\(endpoint): \(key), which this process cannot read: \(error)")
            }
        }
    }

    /// Whether a worker could start with the configuration, and the proxies of its requests.
    private func configuration() async -> [Finding] {
        do {
            let file = try ConfigurationFile(data, directory)
            let uploads = try file.uploads()
            let exec = uploads.exec
            return Finding.configuration(path: data.config, proxies: uploads.http.client.proxies.summary)
                + Finding.programs(
                    isEnabled: exec.isEnabled, names: exec.names,
                    problems: exec.isEnabled ? exec.problems(worker: Self.owner(of: directory)) : [])
                + Self.hook(file.door.uploadHook, uploads.credentials)
                + Self.accessKeys(uploads.credentials)
        } catch {
            // The finding is named for the configuration already.
            let problem = (error as? ExitError)?.message ?? "\(error)"
            return [Finding.configuration(problem: String(problem.trimmingPrefix("configuration: ")))]
        }
    }
}
