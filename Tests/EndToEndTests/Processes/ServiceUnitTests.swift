import Foundation
import TestSupport
import Testing

/// The units of `deploy/systemd`.
struct ServiceUnitFileTests {
    static let names = ["sluice-worker@", "sluice-worker-exec@", "sluice-door"].map { "\($0).service" }

    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(Installation.repository)/deploy/systemd/\(name)", encoding: .utf8)
    }

    static func values(_ key: String, of name: String) throws -> Set<String> {
        let lines = try text(name).split(separator: "\n").filter { $0.hasPrefix("\(key)=") }
        return Set(lines.flatMap { $0.dropFirst(key.count + 1).split(separator: " ").map(String.init) })
    }

    /// A requirement of a unit that conflicts with another one stops that other one. The worker units had one, and the
    /// door's unit has none.
    @Test(arguments: names)
    func `a part starts no unit that would stop “sluice.service”`(_ name: String) throws {
        let conflicts = try Self.values("Conflicts", of: "sluice.service")
        #expect(conflicts == ["sluice-coordinator.service"])
        for key in ["Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Upholds"] {
            #expect(try Self.values(key, of: name).isDisjoint(with: conflicts.union(["sluice.service"])), "\(key)")
        }
    }

    /// `up` tries children with these codes again, and so does the service manager: 73 was missing.
    @Test(arguments: names + ["sluice.service", "sluice-coordinator.service"])
    func `systemd starts a process again that could not write, or was told to try again`(_ name: String) throws {
        let never = try Self.values("RestartPreventExitStatus", of: name)
        #expect(!never.isEmpty && never.isDisjoint(with: ["73", "74", "75"]), "\(never)")
    }
}

extension EndToEndTests {
    struct ServiceUnitTests {
        /// The directives that a user manager can carry out without the sandbox, which needs root.
        private static let kept: Set<String> = [
            "Type", "Restart", "RestartSec", "RestartPreventExitStatus", "KillMode", "ExecReload", "ExecStart",
            "Environment",
        ]

        /// A unit of `deploy/systemd` with the program and the data directory of the installation. Its section `Unit` is as
        /// it is.
        private static func unit(_ name: String, _ installation: Installation) throws -> String {
            var section: Substring = ""
            return try ServiceUnitFileTests.text(name).split(separator: "\n").filter { line in
                if line.hasPrefix("[") { section = line }
                guard section == "[Service]", !line.hasPrefix("["), let equals = line.firstIndex(of: "=") else {
                    return section != "[Install]"
                }
                return kept.contains(String(line[..<equals]))
            }.joined(separator: "\n")
                .replacingOccurrences(of: "/usr/local/bin/sluice", with: "\(Installation.bin)/sluice")
                .replacingOccurrences(of: "/var/lib/sluice", with: installation.data) + "\n"
        }

        private static func withManager(
            _ body: (Installation, SystemdUserManager) async throws -> Void
        ) async throws {
            try await Installation.with { installation in
                guard let manager = try await SystemdUserManager(in: installation.directory.path) else { return }
                do {
                    for name in ServiceUnitFileTests.names + ["sluice.service", "sluice-coordinator.service"] {
                        try manager.write(name, unit(name, installation))
                    }
                    mkdir(installation.data, 0o700)
                    let store = installation.serverStore.map { "store: \($0.url)\n" } ?? ""
                    try "exec: {enabled: true}\n\(store)".write(
                        toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                    chmod("\(installation.data)/sluice.yaml", 0o600)
                    try await body(installation, manager)
                } catch {
                    await manager.finish()
                    throw error
                }
                await manager.finish()
            }
        }

        @Test(
            .enabled(if: isAvailable(SystemdUserManager.mayExist), "systemd or unshare is missing"),
            arguments: [("sluice.service", 2), ("sluice-coordinator.service", 0)])
        func `added workers run beside the service that has the coordinator, which goes on`(
            _ service: String, _ ownWorkers: Int
        ) async throws {
            try await Self.withManager { installation, manager in
                try await manager.systemctl("start", service)
                let before = try await manager.systemctl("show", "--property=MainPID", service)
                try await manager.systemctl("start", "sluice-worker@1", "sluice-worker-exec@1")
                try await until("the workers") { try await installation.workers().count == ownWorkers + 2 }
                for unit in [service, "sluice-worker@1", "sluice-worker-exec@1"] {
                    #expect(try await manager.systemctl("is-active", unit) == "active", "\(unit)")
                }
                #expect(try await manager.systemctl("show", "--property=MainPID", service) == before)
                let other = service == "sluice.service" ? "sluice-coordinator.service" : "sluice.service"
                #expect(try await manager.systemctl("is-active", other) == "inactive")
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
            }
        }
    }
}
