import Commands
import Console
import Host
import NetworkControl
import Settings
import Store
import TestSupport
import Testing

@testable import Queue

@Suite struct WaitExplainerTests {
    private func names(_ rig: InspectionRig, _ command: Command, links: [LinkReport] = []) throws -> [String] {
        try rig.explainer(links: links).reasons(of: command).map(\.name)
    }

    // MARK: Ended, or running

    @Test func `a command that has ended names its end and the way to run it again`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let succeeded = try rig.end(rig.claim(rig.submit()), .success(result: nil))
            #expect(try names(rig, succeeded) == ["ended"])
            let failure = ExecutionResult.failure(CommandFailure(.final, reason: "the payload is empty"))
            let failed = try rig.end(rig.claim(rig.submit()), failure)
            let reason = try #require(try rig.explainer().reasons(of: failed).first)
            #expect(reason.name == "ended")
            #expect(reason.measured.contains("the payload is empty"))
            #expect(reason.remedy.contains("sluice retry \(failed.id)"))
        }
    }

    @Test func `a command in doubt waits for a person`() throws {
        try InspectionRig.with { rig in
            var command = try rig.submit()
            command.status = .inDoubt
            let reason = try #require(try rig.explainer().reasons(of: command).first)
            #expect(reason.name == "doubt")
            #expect(reason.remedy.contains("sluice resolve \(command.id) --success"))
        }
    }

    @Test func `a program waits while the guardian of an earlier run holds its lock`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let command = try rig.submit("exec", to: Destination.none)
            let seat = try rig.takeSeat()
            #expect(try !names(rig, command).contains("earlierRun"))
            let lock = try FileLock.attempt(rig.directory.run.execLock(command.id))
            let reason = try #require(try rig.explainer().reasons(of: command).last)
            #expect(reason.name == "earlierRun" && reason.measured.contains("an earlier run is still ending"))
            #expect(try names(rig, rig.claim(command)) == ["earlierRun", "running"])
            var doubtful = command
            doubtful.status = .inDoubt
            let reasons = try rig.explainer().reasons(of: doubtful)
            #expect(reasons.map(\.name) == ["doubt", "earlierRun"])
            #expect(reasons.first?.remedy.contains("what it has done") == true)
            withExtendedLifetime((lock, seat)) {}
        }
    }

    @Test func `a message waits for its paused endpoint, which is the only reason for its wait`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let seat = try rig.takeSeat()
            let held = CommandFailure.heldBack(reason: "the webhook endpoint “billing” is paused", for: .seconds(3600))
            let message = try rig.end(rig.claim(rig.submit("webhook")), .failure(held))
            #expect(message.status == .new && message.retries == 0)
            #expect(try names(rig, message).contains("notBefore"))
            var state = WebhookEndpointState()
            #expect(state.pausedByPerson(now: rig.now) != .none)
            let setting = WebhookEndpointSetting(name: "billing", origin: InspectionRig.origin, state: state)
            try rig.store.set(WebhookEndpointSetting.key("billing"), to: setting.value)
            let reason = try #require(try rig.explainer().reasons(of: message).first)
            #expect(reason.name == "endpoint" && reason.remedy.contains("sluice webhook resume billing"))
            #expect(try !names(rig, message).contains("notBefore"))
            #expect(try !names(rig, rig.submit("upload")).contains("endpoint"))
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a blocked command waits for its dependencies`() throws {
        try InspectionRig.with { rig in
            var command = try rig.submit()
            command.status = .blocked
            #expect(try names(rig, command) == ["dependencies"])
        }
    }

    @Test func `a blocked command names what holds the one that it waits for, also at the end of a chain`() throws {
        try InspectionRig.with { rig in
            func submit(after parent: CommandID? = nil, key: String? = nil) throws -> Command {
                var draft = CommandDraft(
                    type: "noop", payload: Array("{}".utf8), destination: InspectionRig.origin, idempotent: true)
                draft.dependencies = parent.map { [Dependency(on: $0)] } ?? []
                draft.orderingKey = key
                return try rig.command(try rig.store.submit([draft], allowUnknownTypes: true)[0].get().id)
            }
            try rig.openSession()
            let seat = try rig.takeSeat()
            let first = try submit(key: "k")
            let second = try submit(after: first.id)
            let third = try submit(after: second.id)
            try rig.store.set(SettingKey.pause(qos: nil, destination: InspectionRig.origin), to: rig.now.description)
            let direct = try rig.explainer().reasons(of: second)
            #expect(direct.map(\.name).prefix(2) == ["dependencies", "pause"])
            #expect(direct[1].measured.hasPrefix("“\(first.id)” waits: "), "\(direct[1].measured)")
            #expect(direct[1].remedy.contains("sluice resume --destination"), "\(direct[1].remedy)")
            let chained = try rig.explainer().reasons(of: third)
            #expect(chained.map(\.name).prefix(2) == ["dependencies", "pause"])
            #expect(
                chained[1].measured.hasPrefix("“\(second.id)” waits in the end for “\(first.id)”, which waits: "),
                "\(chained[1].measured)")
            let keyed = try rig.explainer().reasons(of: submit(key: "k"))
            #expect(keyed.map(\.name).prefix(2) == ["order", "pause"])
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a node of a flow names what it waits for, and the flow its nodes`() throws {
        try InspectionRig.with { rig in
            let noop = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            let plan = try FlowPlan(
                FlowDraft("f", nodes: [FlowNode("a", noop), FlowNode("b", noop, after: ["a": .end])]))
            let flow = try rig.store.submit(plan, allowUnknownTypes: true).submission.id
            let nodes = try rig.store.flowNodes(flow, after: 0, limit: 9)
            let node = try #require(try rig.explainer().reasons(of: nodes[1].command).first)
            #expect(
                node.sentence
                    == "dependencies: it waits for “a” (new, any end of it is enough) of the flow \(flow) (needs: an end of "
                    + "each). It is ready when they have ended, in whatever way.", "\(node.sentence)")
            let command = try rig.command(flow)
            let own = try #require(try rig.explainer().reasons(of: command).first)
            #expect(
                own.name == "flow" && own.sentence.contains("2 of its 2 nodes have not ended, among them “a” (new)"))
        }
    }

    @Test func `a claimed command runs while the lock of its worker's seat is held`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let seat = try rig.takeSeat()
            let command = try rig.claim(rig.submit())
            #expect(try names(rig, command) == ["running"])
            var cancelled = command
            cancelled.cancelRequested = true
            #expect(try names(rig, cancelled) == ["cancel"])
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a command whose bytes have all been received waits for the answer`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let seat = try rig.takeSeat()
            let command = try rig.claim(rig.submit())
            let body = #"{"offset":0,"total":5000,"rate":0,"phase":"awaitingResponse","waited":12000}"#
            let progress = try #require(CommandProgress(body: try JSONValue(parsing: body.utf8)))
            let reasons = try rig.explainer(progress: progress).reasons(of: command)
            let reason = try #require(reasons.first)
            #expect(reason.name == "answer")
            #expect(
                reason.measured.contains(
                    "has sent all 5000 bytes, and https://media.example.com:443 has received them"),
                "\(reason.measured)")
            #expect(reason.measured.hasSuffix("its answer has been missing for 12s"), "\(reason.measured)")
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a claimed command of a dead worker waits for a coordinator`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let command = try rig.claim(rig.submit())
            let reason = try #require(try rig.explainer().reasons(of: command).first)
            #expect(reason.name == "worker")
            #expect(reason.measured.contains("is dead"))
            #expect(reason.remedy.contains("sluice up"))
        }
    }

    // MARK: Waiting

    @Test func `a new command without processes waits for a coordinator and a worker`() throws {
        try InspectionRig.with { rig in
            let id = try rig.submit()
            #expect(try names(rig, id) == ["coordinator", "worker"])
        }
    }

    @Test func `a pause that covers the command comes first`() throws {
        try InspectionRig.with { rig in
            let covering = Pause(qos: nil, destination: InspectionRig.origin, since: rig.now.description)
            let other = Pause(qos: .background, destination: nil, since: rig.now.description)
            for pause in [covering, other] { try rig.store.set(pause.key, to: pause.since) }
            let reasons = try rig.explainer().reasons(of: rig.submit())
            #expect(reasons.map(\.name) == ["pause", "coordinator", "worker"])
            #expect(reasons[0].remedy == "“sluice resume --destination \(InspectionRig.origin)” lifts it")
        }
    }

    @Test func `a command with a later time is not due`() throws {
        try InspectionRig.with { rig in
            let command = try rig.submit(notBefore: rig.now + .seconds(90))
            let reason = try #require(try rig.explainer().reasons(of: command).first)
            #expect(reason.name == "notBefore")
            #expect(reason.remedy == "It is due in 1m 30s")
        }
    }

    @Test func `a failed command waits for its backoff`() throws {
        try InspectionRig.with { rig in
            var command = try rig.submit()
            command.status = .error
            command.retries = 2
            command.reason = "503 Service Unavailable"
            command.notBefore = rig.now + .seconds(30)
            let reason = try #require(try rig.explainer().reasons(of: command).first)
            #expect(reason.name == "backoff")
            #expect(reason.measured.hasPrefix("failure 2 of \(command.retryLimit + 1) (503 Service Unavailable)"))
        }
    }

    @Test func `a link that a person holds offline names the command that lifts it`() throws {
        try InspectionRig.with { rig in
            let setting = LinkOverrideSetting(LinkOverride(isOffline: true), since: rig.now)
            try rig.store.set(SettingKey.network(InspectionRig.origin), to: setting.setting)
            let command = try rig.submit()
            let reason = try #require(try rig.explainer().reasons(of: command).first)
            #expect(reason.name == "link")
            #expect(reason.remedy == "“sluice network set \(InspectionRig.origin) --level auto” lifts it")
        }
    }

    @Test func `a wait for a link has its value and its remedy, in words and as values`() throws {
        try InspectionRig.with { rig in
            var link = LinkReport(destination: InspectionRig.origin.text, level: .poor)
            var wait = LinkWaitReason(
                link: link.destination, level: .poor, verb: .pause,
                reason: .goodput(measured: 20_000, threshold: 32_000, usual: nil), since: rig.now)
            wait.remedy = LinkRemedy(.goodput, threshold: 41_600, for: .seconds(3))
            link.gates[.default] = wait
            let command = try rig.submit()
            let reason = try #require(try rig.explainer(links: [link]).reasons(of: command).first)
            #expect(
                reason.measured
                    == "\(link.destination) is poor: goodput 160 kbit/s is below 256 kbit/s; default commands wait there (the policy is “pause”), "
                    + "since \(rig.now)")
            #expect(reason.threshold == "333 kbit/s for 3.0 s")
            #expect(reason.json["values"]?["reason"]?["measured"]?.integer == 20_000)
            #expect(reason.json["values"]?["remedy"]?["threshold"]?.integer == 41_600)
            // Another quality of service passes.
            var urgent = command
            urgent.qos = .userInteractive
            #expect(try names(rig, urgent, links: [link]) == ["coordinator", "worker"])
        }
    }

    @Test func `an open circuit breaker stands for its link`() throws {
        try InspectionRig.with { rig in
            let body: JSONValue = [
                "level": "good",
                "circuitBreaker": [
                    "state": "open", "cause": "credential", "reason": "answered 401", "waiting": 20,
                    "since": .string((rig.now + .seconds(-60)).description),
                    "nextProbe": .string((rig.now + .seconds(45)).description),
                ],
            ]
            let link = try #require(LinkReport(destination: InspectionRig.origin.text, body: body))
            let command = try rig.submit()
            let reason = try #require(try rig.explainer(links: [link]).reasons(of: command).first)
            #expect(reason.name == "circuitBreaker")
            #expect(reason.measured.hasSuffix("answered 401"))
            #expect(reason.remedy.contains("20 commands wait"))
            #expect(reason.remedy.contains("correct the credential"))
        }
    }

    @Test func `a type that no living worker executes is named with the types that they execute`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let seat = try rig.takeSeat()
            let session = try #require(try rig.store.sessions().first)
            let info = WorkerInfo(pid: session.pid, concurrency: 4, types: ["noop"])
            try rig.store.set(SettingKey.worker(seat: 0), to: info.setting)
            let (unknown, known) = (try rig.submit("checksum"), try rig.submit("noop"))
            #expect(try names(rig, unknown) == ["coordinator", "type"])
            #expect(try names(rig, known) == ["coordinator"])
            let draining = WorkerInfo(pid: session.pid, concurrency: 4, types: ["noop"], isDraining: true)
            try rig.store.set(SettingKey.worker(seat: 0), to: draining.setting)
            let reasons = try rig.explainer().reasons(of: rig.submit("noop"))
            #expect(reasons.last?.measured == "every running worker is draining and takes nothing new")
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a suspect waits while each living worker executes another suspect`() throws {
        try InspectionRig.with { rig in
            try rig.openSession()
            let seat = try rig.takeSeat()
            let busy = try rig.claim(rig.submit())
            var waiting = try rig.submit()
            waiting.suspect = true
            #expect(try names(rig, waiting) == ["coordinator"])
            let shard = busy.id.shard(of: rig.store.shardCount)
            try SQLiteProbe(rig.directory.shard(shard)).run("UPDATE command SET suspect = 1")
            #expect(try names(rig, waiting) == ["coordinator", "suspect"])
            withExtendedLifetime(seat) {}
        }
    }

    @Test func `a locked shard keeps its commands from being claimed`() throws {
        try InspectionRig.with { rig in
            let command = try rig.submit()
            let probe = try SQLiteProbe(rig.directory.shard(command.id.shard(of: rig.store.shardCount)))
            try probe.run("BEGIN IMMEDIATE")
            #expect(rig.explainer().locked(command)?.name == "shard")
            try probe.run("ROLLBACK")
            #expect(rig.explainer().locked(command) == nil)
        }
    }

    // MARK: The slots of a running coordinator

    private func link(waits rule: AdmissionWait.Rule, measured: Int, of limit: Int) -> LinkReport {
        var link = LinkReport(destination: InspectionRig.origin.text, level: .good)
        link.waits[.default] = AdmissionWait(rule, measured, of: limit)
        return link
    }

    @Test(arguments: [
        AdmissionWait.Rule.maxConcurrency, .pushback, .slowStart, .linkLimit, .uplinkLimit, .probes, .untried,
        .fairShare, .slots, .maxTransfers,
    ])
    func `a rule of admission is named while a coordinator runs`(_ rule: AdmissionWait.Rule) throws {
        try InspectionRig.with { rig in
            let command = try rig.submit()
            let explainer = rig.explainer(links: [link(waits: rule, measured: 3, of: 4)])
            #expect(explainer.admission(command) == nil, "no coordinator runs")
            let lock = try #require(try rig.directory.run.take(.coordinator))
            let reason = try #require(explainer.admission(command))
            #expect(reason.name == rule.rawValue)
            #expect(reason.threshold?.isEmpty == false)
            // Words of the code, which a person does not know.
            let text = "\(reason.measured) \(reason.threshold ?? "") \(reason.remedy)"
            for word in ["slot", "token", "goodput", "refuses more"] { #expect(!text.contains(word), "\(text)") }
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `rules with a reason of their own are not named twice`() throws {
        try InspectionRig.with { rig in
            let lock = try #require(try rig.directory.run.take(.coordinator))
            let command = try rig.submit()
            for rule in [AdmissionWait.Rule.pause, .heldOffline, .hours, .offline, .circuitBreaker, .level] {
                #expect(rig.explainer(links: [link(waits: rule, measured: 0, of: 0)]).admission(command) == nil)
            }
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `a released command waits after a failure of its link`() throws {
        try InspectionRig.with { rig in
            let lock = try #require(try rig.directory.run.take(.coordinator))
            var command = try rig.submit()
            command.claim = 1
            command.reason = "connection refused"
            command.updatedAt = rig.now + .seconds(-5)
            #expect(rig.explainer().linkWait(command)?.measured == "it was released 5.0s ago: connection refused")
            #expect(
                rig.explainer().linkWait(command)?.threshold
                    == "after a failure of the link a pause of 1 s, which doubles to a minute")
            command.updatedAt = rig.now + .seconds(-80)
            #expect(rig.explainer().linkWait(command) == nil)
            var link = LinkReport(destination: InspectionRig.origin.text, level: .good)
            link.failureWait = LinkFailureWait(first: .seconds(2), limit: .seconds(120), longest: .seconds(150))
            #expect(
                rig.explainer(links: [link]).linkWait(command)?.threshold
                    == "after a failure of the link a pause of 2 s, which doubles to 120 s")
            withExtendedLifetime(lock) {}
        }
    }

    private static let published: [(AdmissionWait.Rule, Double?, String, String)] = [
        (.pushback, 0.25, "a quarter of a second without such an answer", "It begins then"),
        (.pushback, 2, "2 s without such an answer", "It begins then"),
        (.pushback, nil, "a moment without such an answer", "It begins then"),
        (.probes, 25, "its turn", "It begins then: up to 25 such destinations are tried in a second"),
        (.probes, nil, "its turn", "It begins then"),
    ]

    @Test(arguments: published)
    func `a wait is explained with the threshold that the coordinator has published`(
        _ rule: AdmissionWait.Rule, _ threshold: Double?, _ words: String, _ remedy: String
    ) throws {
        let wait = AdmissionWait(rule, 3, of: 0, threshold: threshold)
        let text = try #require(AdmissionText(wait, of: InspectionRig.origin, qos: .default))
        #expect(text.threshold == words && text.remedy == remedy)
    }

    @Test func `a ready command counts the commands ahead of it`() throws {
        try InspectionRig.with { rig in
            _ = try rig.submit()
            _ = try rig.submit()
            let reason = try rig.explainer().slots(rig.submit(), workers: 2)
            #expect(reason.name == "places")
            #expect(reason.measured.contains("and 2 workers are running"))
        }
    }

    // MARK: The output

    @Test func `a sentence and JSON carry the same parts`() {
        let reason = WaitReason(
            "worker", "no worker is running", threshold: "one or more", remedy: "“sluice up” starts one")
        #expect(reason.sentence == "worker: no worker is running (needs: one or more). “sluice up” starts one.")
        #expect(
            reason.json.text
                == #"{"gate":"worker","value":"no worker is running","threshold":"one or more","opens":"“sluice up” starts one","values":{}}"#
        )
    }

    @Test func `an explanation adds the proxy and the unique key`() throws {
        try InspectionRig.with { rig in
            var command = try rig.submit()
            command.uniqueKey = "nightly"
            command.uniqueFor = .running
            let explanation = Explanation(of: command, reasons: [], proxy: "http://proxy:3128", now: rig.now)
            #expect(explanation.sentences.count == 2)
            #expect(explanation.sentences[0].contains("through http://proxy:3128"))
            #expect(explanation.sentences[1].contains("“nightly” is held until the command has ended"))
            #expect(explanation.json["holdsUniqueKey"] == true)
            #expect(explanation.json["gates"]?.elements?.isEmpty == true)
        }
    }
}
