import Configuration
import Operations
import TestSupport
import Testing
import Work

@Suite struct OperationsConfigurationTests {
    private func read(_ values: [AbsoluteConfigKey: ConfigValue]) throws -> OperationsConfiguration {
        try OperationsConfiguration(reading: ConfigReader(provider: InMemoryProvider(values: values)))
    }

    @Test func `has the documented defaults`() throws {
        let configuration = try read([:])
        #expect(configuration == OperationsConfiguration())
        #expect(configuration.http.connectTimeout == .seconds(10))
        #expect(configuration.http.idleTimeout == .seconds(30))
    }

    @Test func `reads time-outs in seconds`() throws {
        let configuration = try read(["upload.connectTimeout": .init(.double(2.5), isSecret: false)])
        #expect(configuration.http.connectTimeout == .milliseconds(2500))
    }

    @Test(arguments: ["upload.connectTimeout", "upload.idleTimeout"])
    func `refuses a time-out of nothing`(_ key: AbsoluteConfigKey) throws {
        #expect(throws: ConfigurationError.self) { try read([key: .init(.double(0), isSecret: false)]) }
    }

    @Test func `refuses certificates that are not there`() throws {
        let error = #expect(throws: ConfigurationError.self) { try read(["upload.trustRootsFile": "/nonexistent.pem"]) }
        #expect(error?.key == "upload.trustRootsFile")
    }

    @Test func `registers noop and upload`() {
        let registry = BuiltInOperations.registry()
        #expect(registry.types == ["noop", "upload"])
    }
}
