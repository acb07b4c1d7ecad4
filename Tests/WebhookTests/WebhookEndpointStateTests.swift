import Commands
import Testing

@testable import Settings
@testable import Webhook

@Suite struct WebhookEndpointStateTests {
    private let start = Timestamp(milliseconds: 1_763_000_000_000)

    private func hours(_ hours: Int) -> Timestamp { start + .seconds(hours * 3600) }

    private func fail(_ state: inout WebhookEndpointState, at now: Timestamp) -> WebhookEndpointState.Action {
        state.failed(.command, now: now)
    }

    @Test func `three days of nothing but failures pause the endpoint, once`() {
        var state = WebhookEndpointState()
        for hour in 0..<72 { #expect(fail(&state, at: hours(hour)) == .none) }
        let pause = WebhookEndpointState.Pause(cause: .failing, since: hours(72))
        #expect(fail(&state, at: hours(72)) == .report(pause))
        #expect(state.pause == pause && !state.isActive)
        #expect(fail(&state, at: hours(73)) == .none)
    }

    @Test func `the last attempt of a message by the retry table pauses an endpoint that fails`() throws {
        var state = WebhookEndpointState()
        var now = start
        var action = fail(&state, at: now)
        for retries in 0..<WebhookRetryTable.retryLimit {
            #expect(action == .none)
            now = now + (try #require(WebhookRetryTable.delay(retries: retries, retryAfter: nil, chance: 0.5)))
            action = fail(&state, at: now)
        }
        #expect(action == .report(WebhookEndpointState.Pause(cause: .failing, since: now)))
        #expect(state.failures == 10)
    }

    @Test func `one success starts the count over`() {
        var state = WebhookEndpointState()
        for hour in 0..<72 { _ = fail(&state, at: hours(hour)) }
        #expect(state.firstFailure == start)
        state.succeeded(now: hours(72))
        #expect(state == WebhookEndpointState(lastSuccess: hours(72)))
        for hour in 72..<144 { #expect(fail(&state, at: hours(hour)) == .none) }
    }

    @Test func `410 pauses one URL at once, and no other`() {
        var state = WebhookEndpointState()
        let url = "https://h.example/gone?key=hush"
        let pause = WebhookEndpointState.Pause(cause: .gone, since: start)
        #expect(state.answeredGone(url, shown: "https://h.example/gone", now: start) == .report(pause))
        #expect(state.answeredGone(url, shown: "https://h.example/gone", now: hours(1)) == .none)
        #expect(state.isActive && state.failures == 0)
        #expect(!state.permits(url) && state.permits("https://h.example/gone?key=other"))
        #expect(
            state.reason("billing") == "the webhook endpoint “billing” sends nothing to https://h.example/gone since "
                + "\(start): its receiver answered 410 (gone)")
        state.succeeded(now: hours(2))
        #expect(!state.permits(url))
        #expect(WebhookEndpointState(.object(state.members)) == state)
        #expect(state.resumed() == .resume && state.permits(url))
    }

    @Test func `of many URLs that are gone the oldest makes room`() {
        var state = WebhookEndpointState()
        for number in 0...WebhookEndpointState.maxGone { _ = state.answeredGone("\(number)", shown: "", now: start) }
        #expect(state.gone.count == WebhookEndpointState.maxGone && state.permits("0") && !state.permits("1"))
    }

    @Test func `an outage of the link does not count`() {
        var state = WebhookEndpointState()
        for hour in 0..<500 {
            #expect(state.failed(.link, now: hours(hour)) == .none)
            #expect(state.failed(.reset, now: hours(hour)) == .none)
        }
        #expect(state == WebhookEndpointState())
    }

    @Test func `faults of the receiver count`() {
        for fault in [CommandFailure.Fault.command, .final, .credential, .destination] {
            var state = WebhookEndpointState()
            _ = state.failed(fault, now: start)
            #expect(state.failures == 1)
        }
    }

    @Test func `a jump of the clock does not pause an endpoint`() {
        var state = WebhookEndpointState()
        _ = fail(&state, at: start)
        #expect(fail(&state, at: hours(24 * 365)) == .none)
        #expect(state.failing == WebhookEndpointState.maxGap)
        #expect(fail(&state, at: start) == .none)
        #expect(state.failing == WebhookEndpointState.maxGap)
        #expect(fail(&state, at: Timestamp(milliseconds: .max)) == .none)
        #expect(fail(&state, at: Timestamp(milliseconds: .min)) == .none)
        #expect(state.isActive)
    }

    @Test func `only a paused endpoint is resumed, with a new count`() {
        var state = WebhookEndpointState()
        #expect(state.resumed() == .none)
        #expect(state.reason("a") == nil)
        _ = state.pausedByPerson(now: start)
        state.succeeded(now: hours(1))
        #expect(!state.isActive)
        #expect(state.resumed() == .resume)
        #expect(state == WebhookEndpointState(lastSuccess: hours(1)))
    }

    @Test func `a person pauses an endpoint once`() {
        var state = WebhookEndpointState()
        #expect(state.pausedByPerson(now: start) == .report(.init(cause: .person, since: start)))
        #expect(state.pausedByPerson(now: hours(1)) == .none)
        #expect(state.reason("a")?.hasSuffix("is paused since \(start) by a person") == true)
    }

    @Test func `a state is written and read back`() throws {
        var states = [WebhookEndpointState(), WebhookEndpointState(lastSuccess: start)]
        var state = WebhookEndpointState()
        for hour in 0...80 {
            _ = fail(&state, at: hours(hour))
            states.append(state)
        }
        for state in states { #expect(WebhookEndpointState(.object(state.members)) == state) }
    }

    @Test(
        arguments: [
            [:], ["failures": -1, "failing": 0], ["failures": 1], ["failures": 1, "failing": -1],
            ["failures": 1, "failing": 1, "paused": "resting", "since": 1],
            ["failures": 1, "failing": 1, "paused": "gone"],
            ["failures": 1_000_001, "failing": 1], [1], "a",
        ] as [JSONValue])
    func `a state of another form is not read`(_ value: JSONValue) { #expect(WebhookEndpointState(value) == nil) }

    @Test func `the largest numbers do not overflow`() throws {
        var state = try #require(
            WebhookEndpointState(["failures": 1_000_000, "failing": .integer(.max), "last": .integer(.min)]))
        _ = fail(&state, at: Timestamp(milliseconds: .max))
        #expect(state.failures == 1_000_000)
        _ = try JSONValue(parsing: JSONValue.object(state.members).bytes)
    }
}
