import Commands
import Testing

@testable import NetworkControl

/// Reasons, remedies and waits as JSON.
@Suite struct LinkReasonTests {
    @Test func `a reason of every rule is read back from its JSON`() throws {
        for rule in LinkReason.Rule.allCases {
            var reason = LinkReason(rule, measured: 1_250_000, threshold: 0.25, usual: 0.0123)
            (reason.share, reason.count, reason.total) = (0.05, 3, 4)
            (reason.subject, reason.text, reason.uplink) = ("eth0", "connection refused", "*")
            #expect(LinkReason(reason.json) == reason, "\(rule)")
            #expect(LinkReason(LinkReason(rule).json) == LinkReason(rule), "\(rule)")
            let remedy = LinkRemedy(rule, threshold: 41_600, for: .seconds(3))
            #expect(LinkRemedy(remedy.json) == remedy && LinkRemedy(LinkRemedy(rule).json) == LinkRemedy(rule))
        }
    }

    @Test func `only the members that a rule has are written, and numbers are rounded`() {
        let reason = LinkReason.goodput(measured: 1_234_567.8, threshold: 0.123456, usual: nil)
        #expect(reason.json.text == #"{"rule":"goodput","measured":1234568,"threshold":0.1235}"#)
        #expect(LinkReason(.silence, measured: .infinity).json.text == #"{"rule":"silence","measured":null}"#)
    }

    @Test func `a sentence of version 0.1.0 and a rule of a later version are kept as text`() throws {
        #expect(LinkReason("no route") == .recorded("no route"))
        #expect(
            LinkReason(try JSONValue(parsing: #"{"rule":"weather","text":"it rains"}"#.utf8)) == .recorded("it rains"))
        #expect(LinkReason(try JSONValue(parsing: #"{"rule":"weather"}"#.utf8)) == .recorded("weather"))
        for text in ["{}", "[]", "7", "null", #"{"rule":7}"#] {
            #expect(LinkReason(try JSONValue(parsing: text.utf8)) == nil, "\(text)")
            #expect(LinkRemedy(try JSONValue(parsing: text.utf8)) == nil, "\(text)")
        }
        #expect(LinkRemedy("333 kbit/s for 3 s") == nil)
        #expect(LinkWaitReason("it is night")?.reason == .recorded("it is night"))
    }

    @Test(arguments: [
        PolicyVerb.run, .throttle(percent: 25), .pause, .preempt, .cancel,
    ])
    func `a wait is read back from its JSON`(_ verb: PolicyVerb) {
        for level in LinkLevel.allCases {
            var wait = LinkWaitReason(
                link: "http://a:80", level: level, verb: verb, reason: LinkReason(.contended, measured: 5),
                since: Timestamp(milliseconds: 1_772_368_496_123))
            wait.remedy = LinkRemedy(.contended, for: .seconds(1))
            #expect(LinkWaitReason(wait.json) == wait)
        }
    }

    @Test(arguments: AdmissionWait.Rule.allCases) func `a rule of admission is read back from its JSON`(
        _ rule: AdmissionWait.Rule
    ) throws {
        let refused = AdmissionWait(rule, 3, of: 0, threshold: 0.25)
        for wait in [AdmissionWait(rule), AdmissionWait(rule, 24, of: 24), refused] {
            #expect(AdmissionWait(wait.json) == wait)
        }
        #expect(AdmissionWait(try JSONValue(parsing: #"{"rule":"weather"}"#.utf8)) == nil)
        for threshold in ["-1", "1e300", "\"1\"", "null"] {
            let text = #"{"rule":"\#(rule.rawValue)","threshold":\#(threshold)}"#
            #expect(AdmissionWait(try JSONValue(parsing: text.utf8)) == AdmissionWait(rule), "\(threshold)")
        }
    }

    @Test func `the waits after failures of a link are read back from a report`() throws {
        var report = LinkReport(destination: "http://a:80", level: .good)
        report.failureWait = LinkFailureWait(first: .milliseconds(500), limit: .seconds(60), longest: .seconds(75))
        let body = JSONValue.object(report.members)
        #expect(body["failureWait"]?.text == #"{"first":0.5,"limit":60,"longest":75}"#)
        #expect(LinkReport(destination: "http://a:80", body: body)?.failureWait == report.failureWait)
        let endless = #"{"first":1,"limit":60,"longest":1e300}"#
        for text in ["null", "{}", #"{"first":1}"#, #"{"first":-1,"limit":60,"longest":75}"#, endless] {
            let body: JSONValue = ["level": "good", "failureWait": try JSONValue(parsing: text.utf8)]
            #expect(LinkReport(destination: "http://a:80", body: body)?.failureWait == nil, "\(text)")
        }
    }
}
