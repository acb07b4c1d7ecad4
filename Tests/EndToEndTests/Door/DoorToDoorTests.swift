import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// One Sluice forwards uploads into another by tus.
    @Suite struct DoorToDoorTests {
        /// An installation whose door is a destination of the other one.
        private static func configuration(token: String, of receiver: DoorRig, idle: Int = 5) -> String {
            """
            credentials: [receiver]
            credential:
              receiver:
                origin: \(receiver.origin)
                bearerFile: \(token)
            routes:
              forward:
                command:
                  type: upload
                  payload: {to: "\(receiver.endpoint)", protocol: tus}
                orderingKey: "{metadata.album}"
              flow:
                flow:
                  nodes:
                    first: {type: upload, payload: {file: "{file}", to: "\(receiver.endpoint)", protocol: tus}}
                    second: {type: noop, after: first}
            """
        }

        @Test func `an upload is forwarded by tus while both doors and the workers are killed`() async throws {
            try await Installation.with { installation in
                let other = try Installation()
                let receiver = try await DoorRig(other)
                let token = try installation.directory.file("receiver.token", Array(try receiver.token.utf8))
                chmod(token, 0o600)
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data(Self.configuration(token: token, of: receiver).utf8).write(
                    to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                _ = try await installation.coordinator()
                var worker = try await installation.worker()
                let sender = try await DoorRig(installation)
                var random = SeededRandom.announced("DoorToDoorTests")
                let bytes = random.bytes(6_000_000)
                let path = try installation.directory.file("source.bin", bytes)
                let response = try await sender.curl(
                    "-T", path, "\(sender.endpoint)?route=flow&name=source.bin")
                let id = try #require(try response.json()["command"]?.string.flatMap { CommandID($0) })
                let store = try installation.store()
                for round in 0..<3 {
                    if try store.command(id)?.status == .success { break }
                    try await receiver.kill()
                    if round == 1 {
                        worker.signal(SIGKILL)
                        worker = try await installation.worker()
                    }
                    try await sender.kill()
                    try await receiver.start()
                    try await sender.start()
                }
                try await installation.await(id, .success, in: store)
                // The receiver has one whole upload, however often it began.
                let spool = DataDirectory(path: other.data).uploads
                let found = try FileManager.default.contentsOfDirectory(atPath: spool).map {
                    contents(of: "\(spool)/\($0)")
                }
                #expect(found.contains(bytes))
                #expect(found.count { $0 == bytes } == 1)
                _ = try await receiver.stop()
                other.directory.remove()
            }
        }

        @Test func `uploads with one ordering key become commands that run in their order`() async throws {
            try await Installation.with { installation in
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                let yaml = """
                    routes:
                      lane:
                        command: {type: noop, payload: {milliseconds: 1}}
                        orderingKey: "{name}"
                    """
                try Data(yaml.utf8).write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                let door = try await DoorRig(installation)
                var ids: [CommandID] = []
                for number in 0..<6 {
                    let response = try await door.curl("-d", "\(number)", "\(door.endpoint)?route=lane&name=a")
                    ids.append(try #require(try response.json()["command"]?.string.flatMap { CommandID($0) }))
                }
                #expect(Set(ids.map { $0.shard(of: 8) }).count == 1)
                let store = try installation.store()
                #expect(try ids.map { try store.command($0)?.status } == [.new] + .init(repeating: .blocked, count: 5))
                _ = try await installation.up()
                for id in ids { try await installation.await(id, .success, in: store) }
                let starts = try ids.map { try #require(try store.timeline($0).first { $0.status == .queued }).at }
                #expect(starts == starts.sorted())
            }
        }
    }
}
