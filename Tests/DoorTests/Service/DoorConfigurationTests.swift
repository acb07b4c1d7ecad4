import Commands
import Door
import HTTPClient
import Settings
import TestSupport
import Testing
import Transfers
import UploadSpool

struct DoorConfigurationTests {
    private func read(_ values: [String: String], lists: [String: [String]] = [:]) throws -> DoorConfiguration {
        var all = values.mapValues { JSONValue.string($0) }
        for (key, list) in lists { all[key] = .array(list.map { .string($0) }) }
        var reader = try SettingsReader(all)
        return try DoorConfiguration(reading: &reader)
    }

    @Test func `without a section the door has its defaults`() throws {
        let configuration = try read([:])
        #expect(configuration == DoorConfiguration())
        #expect(configuration.listen == nil && configuration.limits == UploadLimits())
    }

    @Test func `every key is read`() throws {
        let configuration = try read(
            [
                "door.listen": "[::1]:80", "door.publicURL": "https://a.example/x/", "door.basePath": "/x/",
                "door.interimResponses": "no", "door.maxUploadSize": "2GiB", "door.uploadQuota": "5GB",
                "door.minFreeSpace": "0", "door.uploadMaxAge": "60",
                "door.tokenQuota": "1GiB", "door.tokenUploads": "7", "door.tokenCreations": "8",
            ], lists: ["door.hosts": ["a.example"], "door.trustedProxies": ["10.0.0.0/8"]])
        #expect(configuration.listen == ListenAddress(host: "::1", port: 80))
        #expect(configuration.publicURL == "https://a.example/x" && configuration.basePath == "/x")
        #expect(configuration.hosts == ["a.example"] && configuration.trustedProxies == ["10.0.0.0/8"])
        #expect(!configuration.sendsInterimResponses && configuration.limits.maxSize == 2 << 30)
        #expect(configuration.limits.quota == 5_000_000_000 && configuration.limits.minFree == 0)
        #expect(configuration.limits.maxAge == .seconds(60))
        #expect(configuration.limits.tokenQuota == 1 << 30)
        #expect(configuration.limits.maxTokenUploads == 7 && configuration.limits.maxTokenCreations == 8)
        #expect(configuration.url(at: .init(host: "::", port: 1)) == "https://a.example/x")
    }

    @Test(arguments: [
        ("door.listen", "7411"), ("door.listen", "a:b"), ("door.listen", "::1:80"), ("door.listen", "a:70000"),
        ("door.publicURL", "a.example"), ("door.basePath", "x"), ("door.maxUploadSize", "-1"),
        ("door.tokenUploads", "0"), ("door.tokenCreations", "-1"), ("door.uploadMaxAge", "a week"),
        ("door.interimResponses", "maybe"),
    ])
    func `an unusable value is an error that names its key`(_ key: String, _ value: String) throws {
        let error = #expect(throws: SettingsError.self) { try read([key: value]) }
        #expect(error?.key == key && error?.problem.contains(value) == true)
    }

    @Test func `submits are limited by types, origins and directories`() throws {
        let submit = try read(
            [:],
            lists: [
                "door.submit.types": ["upload"], "door.submit.destinations": ["https://a.example/"],
                "door.submit.sources": ["/srv/out"], "door.submit.networks": ["10.0.0.0/8", "::1"],
            ]
        ).submit
        #expect(submit.types == ["upload"] && submit.sources == ["/srv/out"])
        #expect(submit.destinations.map(\.text) == ["https://a.example:443"])
        #expect(submit.networks.map(\.description) == ["10.0.0.0/8", "::1"])
        let confinement = submit.confinement
        #expect(confinement.destinations == submit.destinations && confinement.networks == submit.networks)
        #expect(confinement.sources == submit.sources)
        #expect(SubmitAllowance().destinations.isEmpty && SubmitAllowance().sources.isEmpty)
    }

    @Test(arguments: [
        ("types", "download"), ("types", "Noop"), ("destinations", "file:///srv"), ("destinations", "a.example"),
        ("destinations", "https://a.example/path"), ("sources", "srv"),
        ("networks", "10.0.0.0/33"), ("networks", "media.example.com"),
    ])
    func `an unusable limit of submits is an error that names its key`(_ key: String, _ value: String) throws {
        let error = #expect(throws: SettingsError.self) { try read([:], lists: ["door.submit.\(key)": [value]]) }
        #expect(error?.key == "door.submit.\(key)" && error?.problem.contains(value) == true)
    }

    @Test(arguments: [
        ("trustedProxies", "proxy.example.com"), ("trustedProxies", "10.0.0.0/33"), ("hosts", "a.example:443"),
        ("hosts", "https://a.example"), ("hosts", "*.example.com"),
    ])
    func `a proxy or a host that would count for nothing is an error that names its key`(
        _ key: String, _ value: String
    ) throws {
        let error = #expect(throws: SettingsError.self) { try read([:], lists: ["door.\(key)": [value]]) }
        #expect(error?.key == "door.\(key)" && error?.problem.contains(value) == true)
        let usable = ["trustedProxies": ["10.0.0.0/8", "::1", "unix"], "hosts": ["a.example", "192.0.2.1", "::1"]]
        #expect(throws: Never.self) { try read([:], lists: ["door.\(key)": usable[key] ?? []]) }
    }

    @Test(arguments: [
        ("127.0.0.1:0", "127.0.0.1", 0), ("[::1]:80", "::1", 80), (":8080", "0.0.0.0", 8080),
        ("a.example:1", "a.example", 1),
    ])
    func `an address is a host and a port`(_ text: String, _ host: String, _ port: Int) {
        #expect(ListenAddress(text) == ListenAddress(host: host, port: port))
    }

    @Test func `the origin of the public URL is that of the door's pages`() {
        var configuration = DoorConfiguration()
        #expect(configuration.publicOrigin == nil)
        configuration.publicURL = "https://files.example.com:8443/sluice/door"
        #expect(configuration.publicOrigin == "https://files.example.com:8443")
        configuration.publicURL = "http://files.example.com"
        #expect(configuration.publicOrigin == "http://files.example.com")
    }

    @Test func `a door on every address is shown by a name that works here`() {
        let configuration = DoorConfiguration()
        #expect(configuration.url(at: .init(host: "0.0.0.0", port: 80)) == "http://localhost:80")
        #expect(configuration.url(at: .init(host: "::1", port: 80)) == "http://[::1]:80")
    }
}
