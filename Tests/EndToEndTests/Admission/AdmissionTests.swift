import Commands
import Foundation
import Host
import Sluice
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The number of commands that may run: one URL, destination or quality of service does not slow the
    /// others.
    @Suite(.tags(.measuresTime)) struct AdmissionTests {
        /// Submits uploads of one file to URLs that end in numbers from 0.
        private func submit(
            _ count: Int, of file: String, to url: String, _ qos: Commands.QualityOfService,
            by transport: String = "put", _ installation: Installation
        ) async throws -> [CommandID] {
            let lines = (0..<count).map { number in
                let to = transport == "tus" ? url : "\(url)\(number)"
                return JSONValue.object([
                    .init("payload", ["file": .string(file), "to": .string(to), "protocol": .string(transport)]),
                    .init("qos", .string("\(qos)")),
                ]).text
            }
            let submitted = try await installation.sluice(
                "submit", "upload", "--payload", "-", input: lines.joined(separator: "\n"))
            #expect(submitted.ids.count == count, "\(submitted.errors)")
            return submitted.ids
        }

        /// Waits until a server has answered this number of requests to paths with a prefix with 201.
        private func await(
            _ count: Int, below prefix: String, of server: MisbehavingReceiver, within limit: Duration
        ) async throws {
            func done() -> Int { server.requests.count { $0.target.hasPrefix(prefix) && $0.answered == 201 } }
            do {
                try await until("\(count) uploads", within: limit) { done() >= count }
            } catch {
                throw Missed("\(error): \(done()) of them are done")
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow")) func `a URL that answers 503 delays no other upload to its server`()
            async throws
        {
            try await Installation.with { installation in
                let server = try await installation.receiver(hashes: false)
                try server.run("PUT /bad* : read; answer 503\nPUT /a/* : read; wait 100ms; answer 201")
                _ = try await installation.up(workers: 2, "--concurrency", "2")
                let client = try SluiceClient(
                    data: installation.data, store: installation.serverStore?.url, create: false)
                let links = try client.events(prefix: "link/")
                let outages = Task {
                    var outages: [SluiceEvent] = []
                    for await event in links where event.body["level"]?.string == "offline" { outages.append(event) }
                    return outages
                }
                let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: 1000))
                let bad = try await submit(1, of: file, to: "\(server.origin)/bad", .default, installation)
                try await until("the first 503") { server.requests.contains { $0.answered == 503 } }
                // Four concurrent requests take 5 s.
                _ = try await submit(200, of: file, to: "\(server.origin)/a/", .default, installation)
                do {
                    try await self.await(200, below: "/a/", of: server, within: .seconds(12))
                } catch {
                    Issue.record(error)
                }
                let refused = server.requests.count { $0.answered == 503 }
                #expect(refused <= 7)
                await client.close()
                let reasons = await outages.value.compactMap { $0.body["reason"]?.string }
                #expect(reasons.isEmpty)
                // The failures are charged to this command.
                let retries = try installation.store().command(bad[0])?.retries
                #expect(retries ?? 0 > 0)
            }
        }

        @Test(
            .enabled(if: runsSlowTests, "slow"),
            arguments: [Commands.QualityOfService.userInitiated, .default, .background].map { "\($0)" })
        func `a server that accepts six concurrent requests refuses none under a limit of six`(quality: String)
            async throws
        {
            let qos = try #require(Commands.QualityOfService.allCases.first { "\($0)" == quality })
            try await Installation.with { installation in
                let server = try await installation.receiver(hashes: false)
                try server.run(
                    """
                    PUT * active > 6 : answer 503 header "Connection: close"; discard 1s; close
                    PUT * : read; wait 150ms; answer 201
                    """)
                _ = try await installation.up(
                    workers: 2,
                    environment: [
                        "SLUICE_DESTINATIONS": "six", "SLUICE_DESTINATION_SIX_ORIGIN": server.origin,
                        "SLUICE_DESTINATION_SIX_MAX_CONCURRENCY": "6",
                    ])
                let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: 1000))
                _ = try await submit(120, of: file, to: "\(server.origin)/a/", qos, installation)
                do {
                    // Six concurrent requests take 3 s.
                    try await self.await(120, below: "/a/", of: server, within: .seconds(10))
                } catch {
                    Issue.record(error)
                }
                let refused = server.requests.count { $0.answered == 503 }
                #expect(refused == 0, "of \(server.requests.count)")
            }
        }

        @Test func `explain shows why and how long a command waits after a failure of its link`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let file = try installation.directory.file("a.bin", [1])
                let put = try await installation.sluice("put", file, "--to", "http://127.0.0.1:\(try freePort())/x")
                let id = try #require(put.ids.first, "\(put.errors)")
                let store = try installation.store()
                try await until("two failures") {
                    let command = try store.command(id)
                    return command?.claim ?? 0 >= 2 && command?.status == .new
                }
                let explained = try await installation.sluice("explain", "\(id)").output
                #expect(explained.contains("linkWait: it was released") && explained.contains("refuses connections"))
                #expect(try store.command(id)?.retries == 0, "nothing is charged")
            }
        }

        @Test func `explain names the rule of admission, its measured value and its limit`() async throws {
            try await Installation.with { installation in
                let server = try await installation.receiver(hashes: false)
                try server.run("PUT /a/0 : read; answer 201\nPUT * : read; wait 60s; answer 201")
                _ = try await installation.up(
                    workers: 2, "--concurrency", "2",
                    environment: [
                        "SLUICE_DESTINATIONS": "two", "SLUICE_DESTINATION_TWO_ORIGIN": server.origin,
                        "SLUICE_DESTINATION_TWO_MAX_CONCURRENCY": "2",
                    ])
                let file = try installation.directory.file("a.bin", [1])
                let limited = try await submit(3, of: file, to: "\(server.origin)/b/", .default, installation)
                try await until("both slots to be taken") { server.active == 2 }
                try await explains(
                    limited,
                    "maxConcurrency: \(server.origin) may have 2 at a time (“maxConcurrency”), and 2 commands run there (needs: fewer than 2",
                    installation)

                let other = try await installation.receiver(hashes: false)
                try other.run("PUT * : read; wait 60s; answer 201")
                let many = try await submit(6, of: file, to: "\(other.origin)/b/", .default, installation)
                try await until("the other slots to be taken") { other.active >= 2 }
                try await explains(many, "slots: the workers execute as many commands as they may, 4", installation)
                let link = try await installation.sluice("network", "--json").lines
                    .map { try JSONValue(parsing: $0.utf8) }.first { $0["destination"]?.string == other.origin }
                let wait = link?["waits"]?["default"]
                #expect(wait?["rule"]?.string == "slots" && wait?["limit"]?.integer == 4, "\(String(describing: link))")
            }
        }

        /// Waits until `explain` shows a text for one of these commands.
        private func explains(_ ids: [CommandID], _ text: String, _ installation: Installation) async throws {
            let store = try installation.store()
            var said = ""
            do {
                try await until("“\(text)”") {
                    guard let id = try ids.last(where: { try store.command($0)?.status == .new }) else { return false }
                    said = try await installation.sluice("explain", "\(id)").output
                    return said.hasPrefix(text)
                }
            } catch { throw Missed("\(error); it says: \(said)") }
        }

        @Test(.enabled(if: runsSlowTests, "slow"), arguments: ["tus", "put"])
        func `commands of an idle destination start at once while another destination holds all slots`(
            transport: String
        )
            async throws
        {
            try await Installation.with { installation in
                let slow = try await installation.receiver(hashes: false, buffer: 32_768)
                let other = try await installation.receiver(hashes: false)
                try slow.run("* * : store")
                slow.readConnections(at: 20_000)
                // No upload ends while this test runs.
                try other.run("PUT * : read; wait 60s; answer 201")
                let slots = 64
                _ = try await installation.up(workers: 2, "--concurrency", "\(slots / 2)")
                let large = try installation.directory.solidFile("large", 20_000_000)
                let small = try installation.directory.file("small", [UInt8](repeating: 7, count: 64_000))
                let path = transport == "tus" ? "/tus" : "/slow/"
                _ = try await submit(
                    slots, of: large, to: slow.origin + path, .background, by: transport, installation)
                try await until("all slots to be taken") { slow.active >= slots }
                let begin = MonotonicTime.now
                let newcomers = try await submit(31, of: small, to: "\(other.origin)/new/", .default, installation)
                /// Seconds until the server of the newcomers has seen this number of requests; none of them
                /// ends.
                func seconds(until count: Int) async throws -> Double {
                    do {
                        try await until("\(count) newcomers", within: .seconds(6)) { other.requests.count >= count }
                    } catch {
                        let why = try await installation.sluice("explain", "\(newcomers[30])").output
                        throw Missed("\(error): \(other.requests.count) are there; the last one: \(why)")
                    }
                    return (other.requests[count - 1].began - begin).seconds
                }
                #expect(try await seconds(until: 1) <= 1)
                #expect(try await seconds(until: 4) <= 2)
                // Resumable low uploads are preempted.
                if transport == "tus" { #expect(try await seconds(until: slots / 4) <= 6) }
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow")) func `an upload to a receiver that pauses is not interrupted`()
            async throws
        {
            try await Installation.with { installation in
                let server = try await installation.receiver(buffer: 65_536)
                try server.run("* * : store pausing 5s every 4M")
                _ = try await installation.up()
                let content = [UInt8](repeating: 7, count: 10_000_000)
                let file = try installation.directory.file("a.bin", content)
                let put = try installation.start(
                    "put", file, "--to", "\(server.origin)/tus", "--protocol", "tus", "--wait")
                // The receiver pauses twice.
                do {
                    #expect(try await put.end(within: .seconds(16)) == .exited(0))
                    let holdsIt = server.holds("/tus/1", content)
                    #expect(holdsIt)
                } catch {
                    Issue.record(error)
                }
                let uploads = server.requests.filter { $0.method == "PATCH" }
                #expect(uploads.map(\.bytes) == [content.count])
            }
        }
    }
}
