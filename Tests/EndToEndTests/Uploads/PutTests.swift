import Commands
import Foundation
import Host
import Sluice
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Uploads of real files through real processes.
    struct PutTests {
        func noise(_ count: Int) -> [UInt8] {
            var random = SeededRandom(seed: UInt64(count))
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count + 8)
            while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
            return Array(bytes.prefix(count))
        }

        @Test func `put copies files to a directory, whole and under their names`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let to = try installation.directory.makeDirectory("to")
                var files: [String: [UInt8]] = [:]
                for (name, size) in [("empty", 0), ("one", 1), ("a name with ünïcode", 70_000), ("large", 3_000_001)] {
                    files[name] = noise(size)
                }
                let paths = try files.map { try installation.directory.file($0.key, $0.value) }
                let put = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["put"] + paths + ["--to", "file://\(to)/", "--wait"])
                #expect(put.code == 0, "\(put.errors)")
                #expect(put.ids.count == 4)
                for (name, bytes) in files { #expect(contents(of: "\(to)/\(name)") == bytes, "\(name)") }
                // No temporary file remains.
                #expect(try FileManager.default.contentsOfDirectory(atPath: to).count == 4)
            }
        }

        @Test func `put sends the bytes, the key and the method over HTTP`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                _ = try await installation.up()
                let bytes = noise(1_000_003)
                let source = try installation.directory.file("movie.mp4", bytes)
                let put = try await installation.sluice("put", source, "--to", "\(receiver.origin)/in/", "--wait")
                #expect(put.code == 0, "\(put.errors)")
                let post = try await installation.sluice(
                    "put", source, "--to", "\(receiver.origin)/posted", "--method", "POST", "--wait")
                #expect(post.code == 0, "\(post.errors)")
                let requests = receiver.requests
                #expect(requests.map(\.method) == ["PUT", "POST"])
                #expect(requests.map(\.target) == ["/in/movie.mp4", "/posted"])
                #expect(requests.map(\.key) == [put.ids[0].description, post.ids[0].description])
                #expect(requests.map(\.sha256) == [sha256(bytes), sha256(bytes)])
                #expect(requests.first?["content-type"] == "video/mp4")
            }
        }

        @Test func `pruning a cancelled command deletes its spooled copy and keeps the source`() async throws {
            try await Installation.with { installation in
                let to = try installation.directory.makeDirectory("to")
                let source = try installation.directory.file("a", noise(1000))
                let put = try await installation.sluice("put", source, "--spool", "--to", "file://\(to)/")
                #expect(put.code == 0, "\(put.errors)")
                let spool = "\(installation.data)/spool"
                #expect(try FileManager.default.contentsOfDirectory(atPath: spool).count == 1)
                let cancel = try await installation.sluice("cancel", put.ids[0].description)
                #expect(cancel.code == 0, "\(cancel.errors)")
                let prune = try await installation.sluice("prune", "--older-than", "0s")
                #expect(prune.output == "1 command removed\n", "\(prune.errors)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: spool).isEmpty)
                #expect(contents(of: source) == noise(1000))
            }
        }

        @Test(.enabled(if: isAvailable(NginxServer.isInstalled), "nginx is not installed"))
        func `put uploads many files to nginx over two workers`() async throws {
            try await Installation.with { installation in
                let nginx = try await NginxServer(in: installation.directory.path)
                defer { Task { await nginx.stop() } }
                _ = try await installation.up(workers: 2)
                var paths: [String] = []
                for number in 0..<200 {
                    paths.append(try installation.directory.file("file-\(number)", noise(1000 + number)))
                }
                let put = try await installation.run(
                    program: "\(Installation.bin)/sluice",
                    ["put"] + paths + ["--to", "\(nginx.origin)/dav/in/", "--wait"])
                #expect(put.code == 0, "\(put.errors)")
                #expect(put.ids.count == 200)
                for number in 0..<200 {
                    #expect(contents(of: "\(nginx.root)/in/file-\(number)") == noise(1000 + number))
                }
                let seats = try Set(put.ids.compactMap { try installation.store().command($0)?.seat })
                #expect(seats.count == 2, "both workers had work")
            }
        }

        @Test(
            .enabled(if: runsSlowTests, "slow"),
            arguments: [
                ("reset before the body", Behaviour.reset(.head), CommandStatus.inDoubt),
                ("reset in the body", .reset(.bytes(50_000)), .inDoubt),
                ("reset after the body", .reset(.body), .inDoubt),
                ("early close", .close(.bytes(50_000)), .inDoubt), ("close without an answer", .close(.body), .inDoubt),
                ("502", .answer(502), .inDoubt), ("429", .answer(429, headers: ["Retry-After": "1"]), .error),
                ("half an answer", .close(.answerHead), .success),
                ("wrong length", .wrongLength(announced: 100, sent: 10), .success), ("no HTTP", .garbage, .inDoubt),
                ("500 early", .answerEarly(500, afterBytes: 1000, closes: true), .error),
            ])
        func `a receiver that misbehaves once gets the file by a retry, and a POST that may have arrived is in doubt`(
            name: String, behaviour: Behaviour, posted: CommandStatus
        ) async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/put", behaviour, .answer(201))
                receiver.on("/post", behaviour, .answer(201))
                _ = try await installation.up()
                let store = try installation.store()
                let bytes = noise(200_000)
                let source = try installation.directory.file("file", bytes)
                let put = try await installation.sluice("put", source, "--to", "\(receiver.origin)/put").ids[0]
                let post = try await installation.sluice(
                    "put", source, "--to", "\(receiver.origin)/post", "--method", "POST"
                ).ids[0]
                let first = try await installation.await(put, .error, .success, in: store)
                if first.status == .error { _ = try await installation.sluice("retry", "\(put)") }
                try await installation.await(put, .success, in: store)
                let last = receiver.requests(to: "/put").last
                #expect(last?.sha256 == sha256(bytes))

                // After an error status the receiver has not taken the file; after any other end the delivery
                // is unknown.
                let ended = try await installation.await(post, .error, .success, .inDoubt, .tooManyTimes, in: store)
                #expect(ended.status == posted, "\(ended.reason ?? "")")
                #expect(receiver.requests(to: "/post").count == 1)
                if posted == .inDoubt {
                    #expect(try await installation.sluice("resolve", "\(post)", "--retry").code == 0)
                    try await installation.await(post, .success, in: store)
                }
            }
        }

        @Test(
            .enabled(if: runsSlowTests, "slow"),
            arguments: zip(["--success", "--cancel"], [CommandStatus.success, .cancelled]))
        func `resolve settles a command in doubt, and the command is not sent again`(
            word: String, status: CommandStatus
        ) async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/post", .close(.body), .answer(201))
                _ = try await installation.up()
                let store = try installation.store()
                let source = try installation.directory.file("file", noise(1000))
                let id = try await installation.sluice(
                    "put", source, "--to", "\(receiver.origin)/post", "--method", "POST"
                )
                .ids[0]
                try await installation.await(id, .inDoubt, in: store)
                #expect(try await installation.sluice("resolve", "\(id)", word).code == 0)
                #expect(try store.command(id)?.status == status)
                // A second resolve of a settled command fails.
                let again = try await installation.sluice("resolve", "\(id)", "--retry")
                #expect(again.code == 1 && (again.output + again.errors).contains("nothing to resolve"), "\(again)")
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(receiver.requests(to: "/post").count == 1)
            }
        }

        @Test func `a redirect is not followed, and the failed command names its target`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/old", .answer(307, headers: ["Location": "\(receiver.origin)/new"]))
                receiver.on("/new", .answer(201))
                _ = try await installation.up()
                let source = try installation.directory.file("file", noise(1000))
                let put = try await installation.sluice("put", source, "--to", "\(receiver.origin)/old", "--wait")
                #expect(put.code == 1, "\(put)")
                let command = try #require(try installation.store().command(put.ids[0]))
                #expect(command.status == .tooManyTimes)
                #expect(command.reason?.contains("redirect to \(receiver.origin)/new") == true, "\(command)")
                #expect(receiver.requests(to: "/new").isEmpty)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a destination that fails at first is tried again after its Retry-After`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/busy", .answer(503, headers: ["Retry-After": "2"]), .answer(201))
                receiver.on("/broken", .answer(500, body: "the disk is on fire"), .answer(201))
                receiver.on("/many", .answer(429, headers: ["Retry-After": "30"]))
                _ = try await installation.up()
                let store = try installation.store()
                let source = try installation.directory.file("file", noise(1000))
                let busy = try await installation.sluice("put", source, "--to", "\(receiver.origin)/busy").ids[0]
                // A 503 before any answer to another command is not charged.
                try await until("the 503") { receiver.requests(to: "/busy").first?.answered == 503 }
                let broken = try await installation.sluice("put", source, "--to", "\(receiver.origin)/broken").ids[0]
                let many = try await installation.sluice("put", source, "--to", "\(receiver.origin)/many").ids[0]
                let refusal = try await installation.await(many, .error, in: store)
                // Longer than the first backoff of a command, which is at most 6.25 s.
                #expect(refusal.retries == 1 && refusal.notBefore - refusal.updatedAt >= .seconds(30), "\(refusal)")
                let failed = try await installation.await(broken, .error, in: store)
                #expect(failed.retries == 1)
                #expect(failed.reason?.contains("500") == true, "\(failed.reason ?? "")")
                #expect(try await installation.await(busy, .success, in: store).retries == 0)
                // Neither the store nor the wire shows a retry before the time that the destination asked
                // for.
                let timeline = try store.timeline(busy)
                let refused = try #require(timeline.first { $0.status == .new && $0.claim == 1 })
                let again = try #require(timeline.first { $0.status == .queued && $0.claim == 2 })
                #expect((Duration.seconds(2)...Duration.seconds(12)).contains(again.at - refused.at), "\(timeline)")
                let requests = receiver.requests(to: "/busy")
                #expect(requests.map(\.answered) == [503, 201])
                let (first, last) = (try #require(requests.first), try #require(requests.last))
                #expect(last.began - first.lastByte >= .seconds(2))
                // A manual retry does not wait for the backoff.
                #expect(try await installation.sluice("retry", "\(broken)").code == 0)
                try await installation.await(broken, .success, in: store)
                let statuses = try store.timeline(broken).map(\.status)
                #expect(statuses.starts(with: [.new, .queued, .sent, .error]))
                #expect(receiver.requests.filter { $0.answered == 201 }.count == 2)
            }
        }

        @Test func `a failure that no retry can repair ends the command at once, with the answer of the destination`()
            async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/x", .answer(403, body: "not in this house"))
                _ = try await installation.up()
                let source = try installation.directory.file("file", noise(10))
                let put = try await installation.sluice("put", source, "--to", "\(receiver.origin)/x", "--wait")
                #expect(put.code == 1)
                let command = try #require(try installation.store().command(put.ids[0]))
                #expect(command.status == .tooManyTimes)
                #expect(
                    command.reason?.contains("403") == true && command.reason?.contains("not in this house") == true)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `commands to a missing destination wait uncharged, and succeed once it appears`()
            async throws
        {
            try await Installation.with { installation in
                let port = try freePort()
                _ = try await installation.up()
                let store = try installation.store()
                let to = try installation.directory.makeDirectory("to")
                let source = try installation.directory.file("file", noise(10))
                let id = try await installation.sluice("put", source, "--to", "http://127.0.0.1:\(port)/x").ids[0]
                try await until("a first try") {
                    try store.command(id).map { $0.claim > 0 && $0.status == .new } ?? false
                }
                #expect(try store.command(id)?.retries == 0)
                // Meanwhile uploads to another destination succeed.
                #expect(try await installation.sluice("put", source, "--to", "file://\(to)/", "--wait").code == 0)
                let receiver = try await installation.receiver(port: port)
                try await installation.await(id, .success, in: store)
                #expect(receiver.requests(to: "/x").count == 1)
                #expect(try store.command(id)?.retries == 0)
            }
        }

        @Test func `a cancellation reaches the wire within 100 ms`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver(hashes: false)
                _ = try await installation.up()
                let store = try installation.store()
                let source = try installation.directory.file("endless", [])
                truncate(source, 1 << 40)
                var delays: [Duration] = []
                for number in 0..<7 {
                    let path = "/endless-\(number)"
                    let id = try await installation.sluice(
                        "put", source, "--to", receiver.origin + path, "--protocol", "put"
                    ).ids[0]
                    try await until("bytes") { (receiver.requests(to: path).first?.bytes ?? 0) > 1 << 20 }
                    let cancel = try installation.start("cancel", "\(id)")
                    #expect(await cancel.end == .exited(0))
                    let done = MonotonicTime.now
                    let last = try await awaited("the end of its connection") {
                        receiver.requests(to: path).first { $0.ended != nil }?.lastByte
                    }
                    delays.append(last - done)
                    try await installation.await(id, .cancelled, in: store)
                }
                // One of them may be late: on a shared machine an fdatasync of another process may delay it.
                #expect(delays.count { $0 > .milliseconds(100) } <= 1, "\(delays)")
                #expect(delays.allSatisfy { $0 <= .seconds(2) }, "\(delays)")
                print("cancel to last byte: \(delays)")
            }
        }

        @Test func `a spooled file is sent although its source is gone, and its copy is deleted`() async throws {
            try await Installation.with { installation in
                let to = try installation.directory.makeDirectory("to")
                let bytes = noise(123_456)
                let source = try installation.directory.file("gone", bytes)
                let put = try await installation.sluice("put", source, "--to", "file://\(to)/", "--spool")
                #expect(put.code == 0, "\(put.errors)")
                try FileManager.default.removeItem(atPath: source)
                _ = try await installation.up()
                try await installation.await(put.ids[0], .success, in: installation.store())
                #expect(contents(of: "\(to)/gone") == bytes)
                try await until("an empty spool") {
                    try FileManager.default.subpathsOfDirectory(atPath: "\(installation.data)/spool")
                        .allSatisfy { contents(of: "\(installation.data)/spool/\($0)") == nil }
                }
            }
        }

        @Test func `remove-source deletes the source after success and not before`() async throws {
            try await Installation.with { installation in
                let to = try installation.directory.makeDirectory("to")
                let source = try installation.directory.file("moved", noise(999))
                let put = try await installation.sluice("put", source, "--to", "file://\(to)/", "--remove-source")
                #expect(contents(of: source) != nil)
                _ = try await installation.up()
                try await installation.await(put.ids[0], .success, in: installation.store())
                try await until("the removal") { contents(of: source) == nil }
                #expect(contents(of: "\(to)/moved") == noise(999))
            }
        }

        @Test func `put --wait names the source that was kept, and the reason`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/in/kept", .answer(201, headers: [:], body: ""), .answer(500, headers: [:], body: ""))
                _ = try await installation.up()
                let source = try installation.directory.file("kept", noise(999))
                let put = try await installation.sluice(
                    "put", source, "--to", "\(receiver.origin)/in/", "--remove-source", "--wait")
                #expect(put.code == 0 && contents(of: source) != nil)
                let lines = put.errors.split(separator: "\n").filter { $0.contains("succeeded; \(source) was kept") }
                #expect(lines.count == 1 && lines[0].contains("500"), "\(put.errors)")
            }
        }

        @Test func `bandwidth events add up to the size within one percent`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver(hashes: false)
                _ = try await installation.up()
                let watch = try installation.start("watch", "--json")
                try await until("the first event") { !watch.output.isEmpty }
                let size = 300_000_000
                let source = try installation.directory.file("large", [])
                truncate(source, off_t(size))
                let put = try await installation.sluice("put", source, "--to", "\(receiver.origin)/large", "--wait")
                #expect(put.code == 0, "\(put.errors)")
                func sent() -> Int64 {
                    watch.output.split(separator: "\n").compactMap { line -> Int64? in
                        guard line.contains("bandwidth/http://127.0.0.1:\(receiver.port)"),
                            let start = line.firstIndex(of: "{")
                        else { return nil }
                        let event = try? JSONValue(parsing: Array(line[start...].utf8))
                        return event?["bytes"]?.integer ?? event?["body"]?["bytes"]?.integer
                    }.max() ?? 0
                }
                try await until("the whole size in events") { sent() >= Int64(size - size / 100) }
                // Two more rounds of reports, because a later event would add to the sum. The passing of time
                // is the condition.
                let later = ContinuousClock.now + .seconds(0.6)
                try await until("two more rounds of reports") { ContinuousClock.now > later }
                #expect(abs(sent() - Int64(size)) <= Int64(size / 100))
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `bandwidth events appear at least twice a second while bytes flow`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver(hashes: false)
                receiver.on("/slow", .slow(bytesPerSecond: 10_000_000))
                _ = try await installation.up()
                let watch = try installation.start("watch", "--json")
                try await until("the first event") { !watch.output.isEmpty }
                let source = try installation.directory.file("large", [])
                truncate(source, 40_000_000)
                let put = try await installation.sluice("put", source, "--to", "\(receiver.origin)/slow", "--wait")
                #expect(put.code == 0, "\(put.errors)")
                let times = watch.output.split(separator: "\n").compactMap { line -> Timestamp? in
                    guard line.contains("bandwidth/http://127.0.0.1:\(receiver.port)"),
                        let start = line.firstIndex(of: "{"),
                        let event = try? JSONValue(parsing: Array(line[start...].utf8)),
                        let at = event["at"]?.string ?? event["body"]?["at"]?.string
                    else { return nil }
                    return Timestamp(printed: at)
                }
                let first = try #require(times.first)
                let last = try #require(times.last)
                #expect(last - first > .seconds(2), "\(times)")
                #expect(times.count >= Int((last - first).milliseconds / 500), "\(times)")
                // 250 ms each on an idle machine. A busy machine may delay one event by the same time again.
                let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
                #expect(gaps.count { $0 > .milliseconds(750) } <= 1, "\(gaps)")
                #expect(gaps.allSatisfy { $0 <= .seconds(2) }, "\(gaps)")
            }
        }
    }
}
