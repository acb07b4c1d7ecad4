import Foundation
import Host
import Sluice
import Store
import TestSupport
import Testing
import Wire

@Suite struct CancellationTests {
    @Test func `a cancel ends a waiting command and sends a hint`() async throws {
        try await Rig.with { rig in
            let stage = try await Stage(rig.directory)
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            #expect(try await rig.client.cancel(id))
            #expect(try rig.store.command(id)?.status == .cancelled)
            try await until("the hint") { stage.hints.contains(Hint(.changed, [id])) }
            await stage.leave()
        }
    }

    @Test func `a cancel of a running command records a request and sends a hint`() async throws {
        try await Rig.with { rig in
            let stage = try await Stage(rig.directory)
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            try rig.hold(id)
            #expect(try await !rig.client.cancel(id))
            #expect(try rig.store.command(id)?.cancelRequested == true)
            try await until("the hint") { stage.hints.contains(Hint(.cancelRequested, [id])) }
            await stage.leave()
        }
    }

    @Test func `a cancel of an ended or unknown command is refused`() async throws {
        try await Rig.with { rig in
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            try rig.execute(id)
            let ended = await #expect(throws: SluiceError.self) { try await rig.client.cancel(id) }
            #expect(ended?.code == .notAllowed)
            let unknown = await #expect(throws: SluiceError.self) { try await rig.client.cancel(CommandID()) }
            #expect(unknown?.code == .noSuchCommand)
        }
    }

    @Test func `retry runs a cancelled command again, and not a successful one`() async throws {
        try await Rig.with { rig in
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            try await rig.client.cancel(id)
            try await rig.client.retry(id)
            #expect(try rig.store.command(id)?.status == .new)
            try rig.execute(id)
            let error = await #expect(throws: SluiceError.self) { try await rig.client.retry(id) }
            #expect(error?.code == .notAllowed)
            #expect(error?.message.contains("success") == true)
        }
    }

    @Test func `resolve settles only a command in doubt`() async throws {
        try await Rig.with { rig in
            var options = SubmitOptions()
            options.idempotent = false
            let id = try await rig.client.submit("noop", payload: ["echo": 1], options: options)
            let early = await #expect(throws: SluiceError.self) { try await rig.client.resolve(id, as: .success) }
            #expect(early?.code == .notAllowed)
            try rig.execute(id, ending: .failure(CommandFailure(.command, reason: "cut", ambiguous: true)))
            #expect(try rig.store.command(id)?.status == .inDoubt)
            try await rig.client.resolve(id, as: .success)
            #expect(try rig.store.command(id)?.status == .success)
        }
    }

    @Test func `resolve as delivered deletes only the spooled copy`() async throws {
        try await Rig.with { rig in
            let copy = "\(rig.directory.spool)/\(CommandID())"
            let own = try rig.place.file("own", [1, 2, 3])
            #expect(FileManager.default.createFile(atPath: copy, contents: Data([1, 2, 3])))
            for file in [copy, own] {
                let id = try await rig.client.submit(
                    "upload", payload: ["file": .string(file), "to": "http://127.0.0.1:9/in/a", "method": "POST"])
                try rig.execute(id, ending: .failure(CommandFailure(.command, reason: "cut", ambiguous: true)))
                #expect(try rig.store.command(id)?.status == .inDoubt)
                try await rig.client.resolve(id, as: .success)
            }
            #expect(!FileManager.default.fileExists(atPath: copy))
            #expect(FileManager.default.fileExists(atPath: own))
        }
    }
}
