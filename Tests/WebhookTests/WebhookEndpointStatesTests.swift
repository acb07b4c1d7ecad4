import Commands
import Operations
import Settings
import Store
import Synchronization
import TestSupport
import Testing
import Work

@testable import Webhook

/// Endpoints that are paused, by an operation and the store behind it.
@Suite struct WebhookEndpointStatesTests {
    private let store = MemoryStore()

    private func states() -> WebhookEndpointStates { WebhookEndpointStates(StoredSettings(store)) }

    private func setting() -> WebhookEndpointSetting? {
        WebhookEndpointSetting.parse(store.settings(prefix: SettingKey.webhookPrefix)).first
    }

    @Test func `410 pauses the URL for all workers, and its messages are held back unsent`() async throws {
        try await WebhookHarness.with("POST /hooks* : read; answer 410\n* * : read; answer 200") { harness in
            let (first, second) = (states(), states())
            let published = Mutex<[String: JSONValue]>([:])
            let gone = try harness.execution(
                harness.payload(),
                publisher: { topic, body in
                    published.withLock { $0[topic] = body }
                })
            let failure = try await harness.outcome(of: gone, by: harness.operation(states: first)).failure
            #expect(failure?.fault == .final)
            let state = try #require(setting())
            #expect(state.name == "billing" && state.origin == harness.origin)
            #expect(state.state.isActive && state.state.gone.count == 1)
            let event = try #require(published.withLock { $0["endpoint/billing"] })
            #expect(event["url"]?.string == "\(harness.server.origin)/hooks")
            #expect(event["cause"] == "gone" && event["command"]?.string == "\(gone.id)")
            for states in [first, second] {
                let next = try harness.execution(harness.payload())
                let held = try #require(
                    try await harness.outcome(of: next, by: harness.operation(states: states)).failure)
                #expect(held.isHeldBack && held.reason.contains("has answered 410"), "\(held)")
                let wait = try #require(held.retryAfter)
                #expect(wait > .seconds(17 * 3600) && wait < .seconds(31 * 3600))
            }
            #expect(harness.server.requests.count == 1)
            // Another URL of the endpoint goes on.
            let other = JSONValue.object([.init("url", .string("\(harness.server.origin)/ok")), .init("type", "a")])
            let sent = try await harness.outcome(
                of: try harness.execution(other), by: harness.operation(states: second))
            #expect(sent.result?["status"] == 200, "\(sent)")
        }
    }

    @Test func `a message goes out as soon as the endpoint is resumed`() async throws {
        try await WebhookHarness.with("* * #1 : read; answer 410\n* * : read; answer 200") { harness in
            let operation = try harness.operation(states: states())
            for expected in [CommandFailure.Fault.final, .link] {
                let outcome = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
                #expect(outcome.failure?.fault == expected, "\(outcome)")
            }
            var setting = try #require(self.setting())
            #expect(setting.state.resumed() == .resume)
            store.update(WebhookEndpointSetting.key("billing"), timeout: .zero) { _ in setting.value }
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(outcome.result?["status"] == 200, "\(outcome)")
            #expect(self.setting()?.state.lastSuccess != nil)
        }
    }

    @Test func `failures are counted together, and the first success ends the count`() async throws {
        try await WebhookHarness.with("* * #1-20 : read; answer 500\n* * : read; answer 200") { harness in
            let operation = try harness.operation(states: states())
            for _ in 0..<20 {
                _ = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            }
            let failing = try #require(setting()?.state)
            #expect((1...20).contains(failing.failures) && failing.firstFailure != nil && failing.isActive)
            _ = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            let state = try #require(setting()?.state)
            #expect(state.failures == 0 && state.firstFailure == nil && state.lastSuccess != nil)
        }
    }

    @Test func `a receiver that is not reached leaves no trace`() async throws {
        try await WebhookHarness.with("* * : read; answer 503") { harness in
            let operation = try harness.operation(states: states())
            _ = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(setting() == nil)
        }
    }

    @Test(arguments: ["", "{", "[]", #"{"origin":"x","failures":0,"failing":0}"#, #"{"failures":0,"failing":0}"#])
    func `a setting of another form pauses nothing`(_ value: String) async throws {
        try await WebhookHarness.with("* * : read; answer 200") { harness in
            store.set([(WebhookEndpointSetting.key("billing"), value)], timeout: .zero)
            #expect(setting() == nil)
            let operation = try harness.operation(states: states())
            let outcome = try await harness.outcome(of: try harness.execution(harness.payload()), by: operation)
            #expect(outcome.result != nil, "\(outcome)")
            #expect(setting()?.state.lastSuccess != nil)
        }
    }
}
