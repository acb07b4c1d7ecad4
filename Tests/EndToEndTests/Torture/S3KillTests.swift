import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Multipart uploads to S3 while processes die.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct S3KillTests {
        private static let files = 10
        private static let kills = 12

        private struct Upload {
            var id: CommandID
            var key: String
            var bytes: [UInt8]
        }

        @Test func `every object is whole, whichever process dies between two requests`() async throws {
            var random = SeededRandom.announced("kill test of s3")
            let (store, server) = (S3Server(), try await ScriptedServer())
            try await stopping(server) {
                server.handle(by: store)
                try await Installation.with(inProcess: false) { installation in
                    let configuration = try Self.configuration(installation, server.origin)
                    let uploads = try await Self.submit(installation, server.origin, &random)
                    let commands = try installation.store()
                    var services = [
                        try await installation.coordinator(),
                        try await installation.worker("--config", configuration),
                        try await installation.worker("--config", configuration),
                    ]
                    var killed = 0
                    while killed < Self.kills, store.objects.count < uploads.count {
                        // The requests are the clock of the schedule.
                        let next = store.log.count + random.number(in: 1..<4)
                        try await until("more requests", within: .seconds(60)) {
                            store.log.count >= next || store.objects.count == uploads.count
                        }
                        let victim = random.chance(0.25) ? 0 : random.number(in: 1..<services.count)
                        services[victim].signal(SIGKILL)
                        _ = try await services[victim].end(within: .seconds(10))
                        services[victim] =
                            victim == 0
                            ? try await installation.coordinator()
                            : try await installation.worker("--config", configuration)
                        killed += 1
                        // A cancelled command is retried at once, so that its upload and its cleanup overlap.
                        guard killed % 3 == 0 else { continue }
                        let id = uploads[random.number(in: 0..<uploads.count)].id
                        if try await installation.sluice("cancel", "\(id)").code == 0 {
                            try await until("the end of \(id)") { try commands.command(id)?.status.isFinal == true }
                            _ = try await installation.sluice("retry", "\(id)")
                        }
                    }
                    try await Self.check(uploads, store, commands, installation)
                    print("kill test of s3: \(killed) kills, \(store.log.count) requests")
                    #expect(killed >= 3)
                }
            }
        }

        private static func configuration(_ installation: Installation, _ origin: String) throws -> String {
            let secret = try installation.directory.file("secret", Array(S3Server.secretKey.utf8))
            chmod(secret, 0o600)
            let yaml = """
                credentials: [store]
                credential:
                  store: {origin: '\(origin)', s3AccessKey: \(S3Server.accessKey), s3SecretFile: '\(secret)'}
                """
            return try installation.directory.file("sluice.yaml", Array(yaml.utf8))
        }

        /// Files of three parts, no two of which have the same bytes.
        private static func submit(
            _ installation: Installation, _ origin: String, _ random: inout SeededRandom
        ) async throws -> [Upload] {
            var uploads: [Upload] = []
            for number in 0..<files {
                var bytes = [UInt8](repeating: UInt8(number), count: 11 << 20)
                for index in stride(from: 0, to: bytes.count, by: 4096) {
                    bytes[index] = UInt8(truncatingIfNeeded: random.next())
                }
                let path = try installation.directory.file("source-\(number)", bytes)
                let put = try await installation.sluice(
                    "s3", "put", path, "--to", "s3://media/\(number)", "--endpoint", origin, "--part-size", "5MiB")
                uploads.append(
                    Upload(id: try #require(put.ids.first, "\(put.errors)"), key: "\(number)", bytes: bytes))
            }
            return uploads
        }

        private static func check(
            _ uploads: [Upload], _ store: S3Server, _ commands: any CommandStore, _ installation: Installation
        ) async throws {
            for upload in uploads {
                let command = try await awaited("the end of \(upload.id)", within: .seconds(120)) {
                    try commands.command(upload.id).flatMap { $0.status.isFinal ? $0 : nil }
                }
                #expect(command.status == .success, "\(command)")
                #expect(store.objects[upload.key]?.bytes == upload.bytes, "\(upload.key)")
            }
            // The uploads of cancelled commands: no cleanup aborts one that is in use, and each of them succeeds.
            try await installation.drained(commands)
            for command in try commands.list(CommandFilter(), after: nil, limit: 1000) {
                #expect(command.status == .success, "\(command)")
            }
        }
    }
}
