import Commands
import Configuration
import HTTPClient
import Operations
import Settings
import TestSupport
import Testing
import Work

@Suite struct OperationsConfigurationTests {
    private func read(_ values: [AbsoluteConfigKey: ConfigValue]) throws -> OperationsConfiguration {
        var reader = SettingsReader(ConfigReader(provider: InMemoryProvider(values: values)))
        return try OperationsConfiguration(reading: &reader)
    }

    @Test func `has the documented defaults`() throws {
        let configuration = try read([:])
        #expect(configuration.http.client.connectTimeout == .seconds(10))
        #expect(configuration.http.client.idleTimeout == .seconds(30))
    }

    @Test func `reads time-outs in seconds`() throws {
        let configuration = try read(["upload.connectTimeout": "2.5"])
        #expect(configuration.http.client.connectTimeout == .milliseconds(2500))
    }

    @Test(arguments: [
        ("upload.connectTimeout", "0"), ("upload.idleTimeout", "0"), ("upload.idleTimeout", "30s"),
        ("upload.idleTimeout", ""), ("upload.connectTimeout", "1e6"), ("upload.connectionsPerHost", "0"),
        ("upload.connectionsPerHost", "many"),
    ])
    func `what makes no sense is refused by its key`(_ key: String, _ value: String) throws {
        let path = AbsoluteConfigKey(key.split(separator: ".").map(String.init))
        let error = #expect(throws: SettingsError.self) { try read([path: .init(.string(value), isSecret: false)]) }
        #expect(error?.key == key)
    }

    @Test func `refuses certificates that are not there`() throws {
        // By whoever uploads: others may not be permitted to look.
        let configuration = try read(["upload.trustRootsFile": "/nonexistent.pem"])
        let error = #expect(throws: SettingsError.self) { try configuration.http.checkFiles() }
        #expect(error?.key == "upload.trustRootsFile")
    }

    private func read(yaml: String) async throws -> OperationsConfiguration {
        let directory = try TemporaryDirectory("configuration")
        defer { directory.remove() }
        let file = try directory.file("sluice.yaml", Array(yaml.utf8))
        let place = ConfigReader(provider: InMemoryProvider(values: ["filePath": .init(stringLiteral: file)]))
        var reader = SettingsReader(ConfigReader(provider: try await FileProvider<YAMLSnapshot>(config: place)))
        return try OperationsConfiguration(reading: &reader)
    }

    private var example: String {
        get throws {
            let file = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            return String(decoding: try #require(contents(of: "/\(file)/deploy/sluice.example.yaml")), as: UTF8.self)
        }
    }

    @Test func `has an example that says the defaults`() async throws {
        let configuration = try await read(yaml: try example)
        #expect(String(describing: configuration) == String(describing: OperationsConfiguration()))
    }

    @Test func `has an example whose comments can be used`() async throws {
        // A comment that is no sentence: nothing or two spaces behind the mark.
        let lines = try example.split(separator: "\n").map { line in
            line.hasPrefix("# ") && !line.hasPrefix("#  ") ? "" : line.hasPrefix("#") ? line.dropFirst() : line
        }
        let text = lines.joined(separator: "\n").replacing("trustRootsFile: /etc/sluice/authority.pem", with: "")
        let credentials = try await read(yaml: text).credentials
        #expect(
            credentials[Destination(scheme: "https", host: "media.example.com", port: 443)]
                == .bearer(.file("/etc/sluice/media.token")))
        #expect(
            credentials[Destination(scheme: "https", host: "archive.example.com", port: 8443)]
                == .basic(user: "sluice", password: .environment("ARCHIVE_PASSWORD")))
        #expect(
            credentials[Destination(scheme: "https", host: "hooks.example.com", port: 443)]
                == .header(name: "X-Api-Key", value: .file("/etc/sluice/hook.key")))
    }

    @Test func `registers noop and upload`() {
        let registry = BuiltInOperations.registry()
        #expect(registry.types == ["noop", "upload"])
    }
}
