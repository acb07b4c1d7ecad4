import BuiltIn
import Commands
import HTTPClient
import Operations
import Settings
import TestSupport
import Testing
import Transfers

@Suite struct OperationsConfigurationTests {
    private func read(_ values: [String: JSONValue]) throws -> OperationsConfiguration {
        var reader = try SettingsReader(values)
        return try OperationsConfiguration(reading: &reader)
    }

    @Test func `the configuration has the documented defaults`() throws {
        let configuration = try read([:])
        #expect(configuration.http.client.connectTimeout == .seconds(10))
        #expect(configuration.http.client.idleTimeout == .seconds(30))
    }

    @Test func `the directory of the collections is in the data directory unless another one is named`() throws {
        #expect(try read([:]).collectionsDirectory == nil)
        #expect(try read(["collections.directory": "/srv/collections"]).collectionsDirectory == "/srv/collections")
    }

    @Test func `timeouts are read in seconds`() throws {
        let configuration = try read(["upload.connectTimeout": "2.5"])
        #expect(configuration.http.client.connectTimeout == .milliseconds(2500))
    }

    @Test(arguments: [
        ("upload.connectTimeout", "0"), ("upload.idleTimeout", "0"), ("upload.idleTimeout", "30x"),
        ("upload.idleTimeout", ""), ("upload.connectTimeout", "1e6"), ("upload.connectionsPerHost", "0"),
        ("upload.connectionsPerHost", "many"), ("collections.directory", "relative/path"),
    ])
    func `an invalid setting is refused by its key`(_ key: String, _ value: String) throws {
        let error = #expect(throws: SettingsError.self) { try read([key: .string(value)]) }
        #expect(error?.key == key)
    }

    @Test func `a missing certificate file is refused`() throws {
        // Only processes that upload check this, because other users may not be permitted to read the files.
        let configuration = try read(["upload.trustRootsFile": "/nonexistent.pem"])
        let error = #expect(throws: SettingsError.self) { try configuration.http.checkFiles() }
        #expect(error?.key == "upload.trustRootsFile")
    }

    private func read(yaml: String) throws -> OperationsConfiguration {
        var reader = try SettingsReader(yaml: yaml)
        return try OperationsConfiguration(reading: &reader)
    }

    private var example: String {
        get throws {
            let file = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            return String(decoding: try #require(contents(of: "/\(file)/deploy/sluice.example.yaml")), as: UTF8.self)
        }
    }

    @Test func `the example configuration has the defaults`() throws {
        let configuration = try read(yaml: try example)
        var defaults = OperationsConfiguration()
        // Those of the environment of this process.
        var nothing = try SettingsReader([:])
        defaults.credentials = try CredentialStore(reading: &nothing)
        #expect(String(describing: configuration) == String(describing: defaults))
    }

    @Test func `the commented settings of the example configuration are valid`() throws {
        // Settings stand in comments without a space, or with two, after the mark. Sentences have one.
        let lines = try example.split(separator: "\n").map { line in
            line.hasPrefix("# ") && !line.hasPrefix("#  ") ? "" : line.hasPrefix("#") ? line.dropFirst() : line
        }
        let text = lines.joined(separator: "\n").replacing("trustRootsFile: /etc/sluice/authority.pem", with: "")
        let credentials = try read(yaml: text).credentials
        #expect(
            credentials[Destination(scheme: "https", host: "media.example.com", port: 443)]
                == .bearer(.file("/etc/sluice/media.token")))
        #expect(
            credentials[Destination(scheme: "https", host: "archive.example.com", port: 8443)]
                == .basic(user: "sluice", password: .environment("ARCHIVE_PASSWORD")))
        #expect(
            credentials[Destination(scheme: "https", host: "hooks.example.com", port: 443)]
                == .header(name: "X-Api-Key", value: .file("/etc/sluice/hook.key")))
        #expect(
            credentials.accessKey(for: Destination(scheme: "https", host: "s3.example.com", port: 443))
                == S3AccessKey(id: "AKIAIOSFODNN7EXAMPLE", secret: .file("/etc/sluice/store.secret")))
    }

    @Test func `the built-in operations are registered`() {
        let registry = BuiltInOperations.registry()
        #expect(
            registry.types == ["cleanup", "download", "fetch", "noop", "request", "s3", "sync", "upload", "webhook"])
    }

    @Test func `exec is registered only where it is enabled`() throws {
        #expect(BuiltInOperations.registry(try read(yaml: "exec: {enabled: false}"))["exec"] == nil)
        #expect(BuiltInOperations.registry(try read(yaml: "exec: {enabled: true}"))["exec"] != nil)
    }
}
