import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Two destinations that refuse every command: one is full, the other refuses the credential.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct CircuitBreakerTests {
        private static let count = 20

        private func link(_ installation: Installation, to origin: String) async throws -> JSONValue? {
            try await installation.sluice("network", "--json").lines.map { try JSONValue(parsing: $0.utf8) }
                .first { $0["destination"]?.string == origin }
        }

        private func put(_ installation: Installation, to receiver: MisbehavingReceiver) async throws -> [CommandID] {
            let files = try (0..<Self.count).map { number in
                try installation.directory.file(
                    "\(receiver.port)-\(number)", [UInt8](repeating: 7, count: 1000 + number))
            }
            return try await installation.run(
                program: "\(Installation.bin)/sluice",
                ["put"] + files + ["--to", "\(receiver.origin)/in/", "--protocol", "put"]
            ).ids
        }

        private func answer(_ status: Int?, _ receiver: MisbehavingReceiver) {
            for number in 0..<Self.count {
                receiver.on("/in/\(receiver.port)-\(number)", .answer(status ?? 201, headers: [:], body: ""))
            }
        }

        @Test func `the first refused credential is in the log and in the network, before a circuit breaker opens`()
            async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/in/a", .answer(401, headers: ["WWW-Authenticate": "Digest realm=a, nonce=b"], body: ""))
                let coordinator = try await installation.coordinator()
                _ = try await installation.worker("--concurrency", "1")
                // The refusal is the only news of a link that is stored already.
                let store = try installation.store()
                func isStored(_ text: String) throws -> Bool {
                    try store.settings(prefix: SettingKey.link(.up, receiver.origin)).values.contains {
                        $0.contains(text)
                    }
                }
                receiver.on("/in/b", .slow(bytesPerSecond: 200_000))
                let accepted = try installation.directory.file("b", [UInt8](repeating: 7, count: 400_000))
                let put = try await installation.sluice("put", accepted, "--to", "\(receiver.origin)/in/", "--wait")
                #expect(put.code == 0, "\(put.errors)")
                try await until("the link in the store") { try isStored("level") }
                let file = try installation.directory.file("a", Array("x".utf8))
                #expect(try await installation.sluice("put", file, "--to", "\(receiver.origin)/in/").code == 0)
                try await until("the refusal in the network") {
                    try await link(installation, to: receiver.origin)?["refusal"]?.string?.contains("Digest") == true
                }
                #expect(try await link(installation, to: receiver.origin)?["circuitBreaker"] == .null)
                try await until("the refusal in the store") { try isStored("Digest") }
                try await until("the log") {
                    let said = coordinator.errors.split(separator: "\n").filter { $0.contains("refuses a command") }
                    return said.count == 1 && said.allSatisfy { $0.contains("Digest") }
                }
            }
        }

        /// Each refused command waits a minute. Few commands are refused, because the worker executes one at
        /// a time.
        @Test
        func `twenty commands survive 507 and 401, are reported once, and all succeed within a minute of the repair`()
            async throws
        {
            try await Installation.with { installation in
                let full = try await installation.receiver()
                let locked = try await installation.receiver()
                answer(507, full)
                answer(401, locked)
                let interval = ["SLUICE_NETWORK_PROBE_INTERVAL": "1"]
                let coordinator = try await installation.coordinator(environment: interval)
                _ = try await installation.worker("--concurrency", "1")
                let store = try installation.store()
                let ids = [try await put(installation, to: full), try await put(installation, to: locked)]
                #expect(ids.map(\.count) == [Self.count, Self.count])

                for (receiver, ids, cause, status) in [
                    (full, ids[0], "destination", "507"), (locked, ids[1], "credential", "401"),
                ] {
                    try await until("the circuit breaker, and every command that waits for it") {
                        let circuitBreaker = try await link(installation, to: receiver.origin)?["circuitBreaker"]
                        return circuitBreaker?["cause"]?.string == cause
                            && circuitBreaker?["waiting"]?.integer == Int64(Self.count)
                    }
                    let shown = try #require(try await link(installation, to: receiver.origin))
                    #expect(shown["circuitBreaker"]?["reason"]?.string?.contains(status) == true, "\(shown.text)")
                    #expect(shown["level"]?.string != "offline", "\(shown.text)")
                    #expect(shown["gates"]?["default"]?["reason"]?["rule"] == "circuitBreaker", "\(shown.text)")
                    let links = try await installation.sluice("status").lines.filter { $0.hasPrefix(receiver.origin) }
                    #expect(links.count == 1 && links[0].contains(" commands wait"), "\(links)")
                    let explained = try await installation.sluice("explain", "\(ids[Self.count - 1])").output
                    for part in [
                        "circuitBreaker: the circuit breaker of \(receiver.origin) is open", status,
                        "since 2", "probe", "What a person can do",
                    ] {
                        #expect(explained.contains(part), "\(explained)")
                    }
                    #expect(
                        explained.split(separator: "answered \(status)", omittingEmptySubsequences: false).count == 2)
                    let gates = try await installation.sluice("explain", "\(ids[0])", "--json").json()["gates"]
                    #expect(gates?.elements?.contains { $0["gate"]?.string == "circuitBreaker" } == true)
                }
                // Commands to other destinations succeed.
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                try await until("five probes more") { full.requests.count >= 6 }
                #expect(full.requests.count < 2 * Self.count)

                // The circuit breaker stays as it was without a coordinator and for the next one.
                func since() async throws -> Timestamp {
                    let link = try await link(installation, to: full.origin)
                    return try #require(link?["circuitBreaker"]?["since"]?.string.flatMap { Timestamp(printed: $0) })
                }
                let opened = try await since()
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                #expect(abs((try await since() - opened).seconds) < 1)
                _ = try await installation.coordinator(environment: interval)
                #expect(abs((try await since() - opened).seconds) < 1)

                for id in ids.joined() {
                    let command = try #require(try store.command(id))
                    #expect(!command.status.isFinal && command.retries == 0, "\(command)")
                }
                answer(nil, full)
                answer(nil, locked)
                let mended = ContinuousClock.now
                for id in ids.joined() { try await installation.await(id, .success, in: store, within: .seconds(62)) }
                #expect((ContinuousClock.now - mended).seconds < 62)
                try await until("the circuit breakers to close") {
                    let closed = try await [full, locked].asyncAllSatisfy {
                        try await link(installation, to: $0.origin)?["circuitBreaker"] == .null
                    }
                    let settings = try store.settings(prefix: "link.up.").values
                    return closed && settings.allSatisfy { $0.contains(#""circuitBreaker":null"#) }
                }
            }
        }
    }
}

extension Sequence {
    fileprivate func asyncAllSatisfy(_ isMet: (Element) async throws -> Bool) async rethrows -> Bool {
        for element in self where try await !isMet(element) { return false }
        return true
    }
}
