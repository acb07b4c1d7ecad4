import Commands
import Sluice
import Store
import Testing

/// Changes and lists of the library.
@Suite struct SteeringTests {
    @Test func `a waiting command changes its quality of service, an ended one keeps it`() async throws {
        try await Rig.with { rig in
            let id = try await rig.client.submit("noop", payload: [:])
            try await rig.client.requalify(id, to: .userInitiated)
            #expect(try await rig.client.command(id)?.qos == .userInitiated)
            try rig.execute(id)
            var error = await #expect(throws: SluiceError.self) { try await rig.client.requalify(id, to: .background) }
            #expect(error?.code == .notAllowed && error?.message.contains("success") == true)
            let unknown = CommandID(high: 1, low: 2)
            error = await #expect(throws: SluiceError.self) { try await rig.client.requalify(unknown, to: .default) }
            #expect(error?.code == .noSuchCommand)
        }
    }

    @Test func `a pause is stored once and ends by the same arguments`() async throws {
        try await Rig.with { rig in
            let host = Destination(scheme: "https", host: "media.example.com", port: 443)
            try await rig.client.pause(qos: .background, destination: host)
            let key = SettingKey.pause(qos: .background, destination: host)
            let since = try rig.store.setting(key)
            #expect(since != nil)
            try await rig.client.pause(qos: .background, destination: host)
            #expect(try rig.store.setting(key) == since)
            #expect(try await rig.client.resume() == false)
            #expect(try await rig.client.resume(qos: .background, destination: host))
            #expect(try rig.store.setting(key) == nil)
            #expect(try await rig.client.resume(qos: .background, destination: host) == false)
        }
    }

    @Test func `a rate limit is made, changed, listed and removed`() async throws {
        try await Rig.with { rig in
            let limit = RateLimit(starts: try #require(StartRate(count: 30, period: .second)), burst: 5)
            try await rig.client.setLimit("quotes-api", to: limit)
            #expect(try await rig.client.limits() == ["quotes-api": limit])
            var changed = limit
            changed.atOnce = 2
            try await rig.client.setLimit("quotes-api", to: changed)
            #expect(try await rig.client.limits() == ["quotes-api": changed])
            #expect(try await rig.client.removeLimit("quotes-api"))
            #expect(try await rig.client.removeLimit("quotes-api") == false)
            #expect(try await rig.client.limits().isEmpty)

            var none = limit
            none.atOnce = 0
            for (name, wrong) in [("a b", limit), ("a", none)] {
                let error = await #expect(throws: SluiceError.self) { try await rig.client.setLimit(name, to: wrong) }
                #expect(error?.code == .usage)
            }
        }
    }

    @Test func `pages list every command once, in both orders, and filters apply`() async throws {
        try await Rig.with { rig in
            var ids: [CommandID] = []
            for _ in 0..<25 { ids.append(try await rig.client.submit("noop", payload: [:])) }
            for id in ids.prefix(5) { try rig.execute(id) }
            for order in [CommandOrder.oldestFirst, .newestFirst] {
                var found: [CommandID] = []
                var after: CommandID?
                repeat {
                    let page = try await rig.client.list(order: order, after: after, limit: 10)
                    #expect(page.commands.count <= 10)
                    found += page.commands.map(\.id)
                    after = page.next
                } while after != nil
                #expect(found == (order == .oldestFirst ? ids.sorted() : ids.sorted().reversed()))
            }
            let ended = try await rig.client.list(CommandFilter(status: .success))
            #expect(Set(ended.commands.map(\.id)) == Set(ids.prefix(5)))
            // A limit out of bounds is moved into them.
            #expect(try await rig.client.list(limit: 0).commands.count == 1)
        }
    }

    @Test func `a producer without the operation follows the rule that its worker has stored`() async throws {
        try await Rig.with { rig in
            let rule = PayloadRule(isIdempotent: true, destination: "/callback/url", retryLimit: 2)
            try rig.store.record(types: ["transcode"])
            try rig.store.set(SettingKey.type("transcode"), to: rule.setting)
            let payload: JSONValue = ["callback": ["url": "https://Host.example.com/done?id=1"]]
            let id = try await rig.client.submit("transcode", payload: payload)
            let command = try #require(try await rig.client.command(id))
            #expect(command.idempotent && command.retryLimit == 2)
            #expect(command.destination == Destination(scheme: "https", host: "host.example.com", port: 443))
            // The options of the producer outweigh the rule.
            var options = SubmitOptions()
            options.idempotent = false
            options.destination = Destination.none
            let other = try await rig.client.submit("transcode", payload: payload, options: options)
            #expect(try await rig.client.command(other)?.idempotent == false)
            #expect(try await rig.client.command(other)?.destination == Destination.none)
            // Payloads that the rule cannot read.
            for (payload, text) in [([:], "no text at “/callback/url”"), (["callback": ["url": "x"]], "not a URL")]
                as [(JSONValue, String)]
            {
                let error = await #expect(throws: SluiceError.self) {
                    try await rig.client.submit("transcode", payload: payload)
                }
                #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
            }
        }
    }

    @Test(arguments: [
        PayloadRule(isIdempotent: true), PayloadRule(destination: "/a~1b"), PayloadRule(retryLimit: 0),
        PayloadRule(isIdempotent: true, destination: "", retryLimit: 7),
    ]) func `a rule is read back from its setting`(_ rule: PayloadRule) throws {
        let setting = try #require(rule.setting)
        #expect(PayloadRule(setting: setting) == rule)
    }

    @Test func `a rule of another form and the rule without contents are none`() {
        #expect(PayloadRule().setting == nil)
        #expect(PayloadRule(setting: "[]") == nil && PayloadRule(setting: "{") == nil)
        #expect(PayloadRule(setting: #"{"retryLimit": "x", "later": 1}"#) == PayloadRule())
    }
}
