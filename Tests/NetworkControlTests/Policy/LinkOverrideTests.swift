import Commands
import NetworkControl
import Testing

@Suite struct LinkOverrideTests {
    private let destination = Destination(scheme: "https", host: "media.example.com", port: 443)

    @Test(arguments: [
        (true, Int64?.none), (true, 2_500_000), (false, 1000),
    ])
    func `a setting is read back as it was written`(_ isOffline: Bool, _ maxRate: Int64?) {
        let setting = LinkOverrideSetting(
            LinkOverride(isOffline: isOffline, maxRate: maxRate), since: Timestamp(milliseconds: 1_772_368_496_000))
        #expect(LinkOverrideSetting(setting: setting.setting) == setting)
        let key = LinkOverrideSetting.key(destination)
        #expect(LinkOverrideSetting.destination(of: key) == destination)
        #expect(LinkOverrideSetting.parse([key: setting.setting]) == [destination: setting])
    }

    @Test func `a setting is JSON that other programs can read`() {
        let setting = LinkOverrideSetting(LinkOverride(isOffline: true), since: Timestamp(milliseconds: 5))
        #expect(setting.setting == #"{"level":"offline","maxRate":null,"since":5}"#)
        #expect(LinkOverrideSetting.key(destination) == "network.https://media.example.com:443")
    }

    @Test func `a setting that cannot be read holds back no command`() {
        let good = #"{"level":"offline","maxRate":null,"since":5}"#
        let settings = [
            "network.media": good, "network.HTTPS://media.example.com": good, "pause.*.*": good,
            "network.http://a:80": "offline", "network.http://b:80": "{}", "network.http://c:80": "[1",
        ]
        #expect(LinkOverrideSetting.parse(settings).isEmpty)
        let odd = LinkOverrideSetting(setting: #"{"level":"high","maxRate":-5,"since":"x"}"#)
        #expect(odd?.override == LinkOverride())
    }
}
