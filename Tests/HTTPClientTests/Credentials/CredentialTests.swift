import Commands
import Foundation
import Settings
import TestSupport
import Testing

@testable import HTTPClient

@Suite struct CredentialTests {
    private func withSecret(_ text: String, _ body: (String) throws -> Void) throws {
        let directory = try TemporaryDirectory("credentials")
        defer { directory.remove() }
        let file = try directory.file("token", Array(text.utf8))
        chmod(file, 0o600)
        try body(file)
    }

    private func store(_ values: [String: JSONValue]) throws -> CredentialStore {
        var reader = try SettingsReader(values)
        return try CredentialStore(reading: &reader)
    }

    @Test func `a credential is a bearer token, a user with password, or a header`() throws {
        try withSecret("open sesame\n") { (file) throws in
            let bearer = try Credential.bearer(.file(file)).header()
            #expect(bearer == ("Authorization", "Bearer open sesame"))
            let basic = try Credential.basic(user: "Aladdin", password: .file(file)).header()
            #expect(basic == ("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="))
            let own = try Credential.header(name: "X-Api-Key", value: .file(file)).header()
            #expect(own == ("X-Api-Key", "open sesame"))
        }
    }

    @Test func `a credential file is read for every use`() throws {
        try withSecret("old") { (file) throws in
            let credential = Credential.bearer(.file(file))
            #expect(try credential.header().value == "Bearer old")
            try Data("new".utf8).write(to: URL(fileURLWithPath: file))
            chmod(file, 0o600)
            #expect(try credential.header().value == "Bearer new")
        }
    }

    @Test(arguments: [mode_t(0o640), 0o604, 0o660, 0o644])
    func `a secret file that others may read is refused`(_ mode: mode_t) throws {
        try withSecret("hush") { (file) throws in
            chmod(file, mode)
            let error = #expect(throws: SecretError.self) { try Secret.file(file).read() }
            #expect(error?.description.contains("chmod 600 \(file)") == true)
        }
    }

    @Test(arguments: ["", "\n", "two\nlines", "zero\u{0}byte", String(repeating: "x", count: 20_000)])
    func `an invalid secret is refused and not quoted`(_ text: String) throws {
        try withSecret(text) { (file) throws in
            let error = try #require(#expect(throws: SecretError.self) { try Secret.file(file).read() })
            #expect(error.description.contains(file))
            #expect(!error.description.contains("lines") && !error.description.contains("xxx"))
        }
    }

    @Test func `a missing secret file or variable is an error`() {
        #expect(throws: SecretError.self) { try Secret.file("/nonexistent/token").read() }
        #expect(throws: SecretError.self) { try Secret.environment("SLUICE_TEST_NO_SUCH_VARIABLE").read() }
    }

    @Test func `a credential is matched by exact origin`() throws {
        let store = try store([
            "credentials": ["media"],
            "credential.media.origin": "https://media.example.com", "credential.media.bearerFile": "/run/token",
        ])
        func has(_ url: String) -> Bool { Destination(url).map { store[$0] != nil } ?? false }
        #expect(has("https://media.example.com/in/a?b"))
        #expect(has("https://MEDIA.example.com:443/"))
        #expect(!has("http://media.example.com/"))
        #expect(!has("https://media.example.com:8443/"))
        #expect(!has("https://media.example.com.evil.org/"))
        #expect(!has("https://evil.org/?https://media.example.com"))
    }

    @Test func `all kinds of credentials are read from the configuration`() throws {
        let store = try store([
            "credentials": ["a", "b", "c"],
            "credential.a.origin": "https://a", "credential.a.bearerEnvironment": "TOKEN",
            "credential.b.origin": "https://b/", "credential.b.basicUser": "u", "credential.b.basicPasswordFile": "/p",
            "credential.c.origin": "http://c:8080", "credential.c.headerName": "X-Key",
            "credential.c.headerValueFile": "/v",
        ])
        #expect(store[Destination(scheme: "https", host: "a", port: 443)] == .bearer(.environment("TOKEN")))
        #expect(store[Destination(scheme: "https", host: "b", port: 443)] == .basic(user: "u", password: .file("/p")))
        #expect(store[Destination(scheme: "http", host: "c", port: 8080)] == .header(name: "X-Key", value: .file("/v")))
    }

    @Test func `an access key of S3 is read from the configuration, and is not a header`() throws {
        let store = try store([
            "credentials": ["a", "b"],
            "credential.a.origin": "https://a", "credential.a.s3AccessKey": "AK", "credential.a.s3SecretFile": "/s",
            "credential.b.origin": "https://b", "credential.b.s3AccessKey": "BK",
            "credential.b.s3SecretEnvironment": "SECRET", "credential.b.s3TokenEnvironment": "TOKEN",
        ])
        let (a, b) = (
            Destination(scheme: "https", host: "a", port: 443), Destination(scheme: "https", host: "b", port: 443)
        )
        #expect(store.accessKey(for: a) == S3AccessKey(id: "AK", secret: .file("/s")))
        #expect(
            store.accessKey(for: b)
                == S3AccessKey(id: "BK", secret: .environment("SECRET"), token: .environment("TOKEN")))
        #expect(store[a] == nil && store.variables == ["SECRET", "TOKEN"])
    }

    @Test(arguments: [
        ["origin": "https://h", "s3AccessKey": "AK"], ["origin": "https://h", "s3SecretFile": "/s"],
        ["origin": "https://h", "s3AccessKey": "AK", "s3TokenFile": "/t"],
        ["origin": "https://h", "s3AccessKey": "AK", "s3SecretFile": "/s", "s3SecretEnvironment": "S"],
        ["s3AccessKey": "AK", "s3SecretFile": "/s"], ["origin": "https://h", "s3AccessKey": "AK", "s3SecretFile": ""],
        ["origin": "media.example.com", "bearerFile": "/t"], ["origin": "https://h/path", "bearerFile": "/t"],
        ["origin": "https://u@h", "bearerFile": "/t"], ["origin": "https://h", "bearerFile": ""],
        ["origin": "https://h", "bearerFile": "/t", "basicUser": "u"],
        ["origin": "https://h", "headerName": "X-Key", "headerValueFile": "/v", "basicUser": "u"], ["bearerFile": "/t"],
        ["origin": "https://h"],
        ["origin": "https://h", "bearerFile": "/t", "bearerEnvironment": "T"],
        ["origin": "https://h", "bearerFile": "/t", "basicPasswordFile": "/p", "basicUser": "u"],
        ["origin": "https://h", "basicPasswordFile": "/p"], ["origin": "https://h", "headerValueFile": "/v"],
        ["origin": "https://h", "headerName": "Host", "headerValueFile": "/v"],
        ["origin": "file:///", "bearerFile": "/t"],
    ])
    func `an invalid credential is reported by its key`(_ section: [String: String]) throws {
        var values: [String: JSONValue] = ["credentials": ["x"]]
        for (key, value) in section { values["credential.x.\(key)"] = .string(value) }
        let error = #expect(throws: SettingsError.self) { try store(values) }
        #expect(error?.key.hasPrefix("credential.x") == true)
    }

    @Test func `variables with secrets are listed, and an error never quotes a secret`() throws {
        let names: JSONValue = ["a"]
        let store = try store([
            "credentials": names, "credential.a.origin": "https://h",
            "credential.a.bearerEnvironment": "SLUICE_CREDENTIAL_TOKEN",
        ])
        #expect(store.variables == ["SLUICE_CREDENTIAL_TOKEN"])
        let error = #expect(throws: SettingsError.self) {
            try self.store([
                "credentials": names, "credential.a.origin": "https://user:hush@h", "credential.a.bearerFile": "/t",
            ])
        }
        #expect(error?.key == "credential.a.origin")
        #expect(error?.description.contains("hush") == false)
    }

    @Test func `the setting credentials is a list`() throws {
        let values: [String: JSONValue] = [
            "credentials": "media", "credential.media.origin": "https://h", "credential.media.bearerFile": "/t",
        ]
        #expect(#expect(throws: SettingsError.self) { try store(values) }?.key == "credentials")
    }
}
