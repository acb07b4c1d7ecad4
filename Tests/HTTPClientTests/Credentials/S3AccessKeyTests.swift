import Commands
import Foundation
import Settings
import TestSupport
import Testing

@testable import HTTPClient

/// Where the access key of an endpoint comes from.
@Suite struct S3AccessKeyTests {
    private static let aws = Destination(scheme: "https", host: "s3.eu-west-1.amazonaws.com", port: 443)
    private static let own = Destination(scheme: "http", host: "127.0.0.1", port: 9000)
    private static let other = Destination(scheme: "https", host: "s3.example.com", port: 443)

    private func store(
        _ variables: [String: String], files: Set<String> = [], _ section: [String: String] = [:]
    ) throws -> CredentialStore {
        var values: [String: JSONValue] = [:]
        if !section.isEmpty { values["credentials"] = ["x"] }
        for (key, value) in section { values["credential.x.\(key)"] = .string(value) }
        var reader = try SettingsReader(values)
        return try CredentialStore(
            reading: &reader, environment: AWSEnvironment(variable: { variables[$0] }, exists: { files.contains($0) }))
    }

    private static let keys = ["AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "hush", "HOME": "/home/a"]

    @Test func `without a section the key of the environment goes to AWS and to the endpoint that a variable names`()
        throws
    {
        let store = try store(Self.keys.merging(["AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9000/base"]) { $1 })
        #expect(store.accessKey(for: Self.aws)?.source == .environment)
        #expect(store.accessKey(for: Self.own)?.source == .environment)
        #expect(store.accessKey(for: Self.other) == nil)
        // A name that only ends alike, and a connection without TLS.
        for (scheme, host) in [("https", "evilamazonaws.com"), ("http", "s3.amazonaws.com")] {
            #expect(store.accessKey(for: Destination(scheme: scheme, host: host, port: 443)) == nil)
        }
        #expect(store.variables == ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] || store.variables.isEmpty)
    }

    @Test func `the environment goes before a profile, and a section before both`() throws {
        let file = "/home/a/.aws/credentials"
        #expect(try store(Self.keys, files: [file]).accessKey(for: Self.aws)?.source == .environment)
        let home = ["HOME": "/home/a"]
        #expect(try store(home, files: [file]).accessKey(for: Self.aws)?.source == .profile("default", file: file))
        #expect(try store(home).accessKey(for: Self.aws) == nil)
        let named = home.merging(["AWS_PROFILE": "b", "AWS_SHARED_CREDENTIALS_FILE": "/c"]) { $1 }
        #expect(try store(named).accessKey(for: Self.aws)?.source == .profile("b", file: "/c"))
        let origin = ["origin": "https://s3.eu-west-1.amazonaws.com"]
        let stated = origin.merging(["s3AccessKey": "BK", "s3SecretFile": "/s"]) { $1 }
        #expect(try store(Self.keys, stated).accessKey(for: Self.aws) == S3AccessKey(id: "BK", secret: .file("/s")))
        let profile = origin.merging(["s3Profile": "backup"]) { $1 }
        #expect(try store(Self.keys, profile).accessKey(for: Self.aws)?.source == .profile("backup", file: file))
        let own = ["origin": "http://127.0.0.1:9000", "s3Environment": "true"]
        #expect(try store(Self.keys, own).accessKey(for: Self.own)?.source == .environment)
    }

    @Test(arguments: [
        ["s3Environment": "true", "s3Profile": "a"], ["s3AccessKey": "A", "s3SecretFile": "/s", "s3Profile": "a"],
        ["s3Profile": ""], ["s3ProfileFile": ""], ["s3Environment": "perhaps"], ["s3Environment": "false"],
    ])
    func `a section with two sources or none is refused by its key`(_ section: [String: String]) {
        let error = #expect(throws: SettingsError.self) {
            try store(Self.keys, section.merging(["origin": "https://h"]) { $1 })
        }
        #expect(error?.key.hasPrefix("credential.x") == true)
    }

    private static let text = """
        # keys
        [default]
        aws_access_key_id = AKD
        aws_secret_access_key=hush/default+=
        [ backup ]
          AWS_ACCESS_KEY_ID=AKB
          aws_secret_access_key = hush-backup
          aws_session_token = hush-token
        ; a role
        [role]
        role_arn = arn:aws:iam::1:role/a
        """

    @Test func `a profile has a key, and perhaps a token`() throws {
        let directory = try TemporaryDirectory("profiles")
        defer { directory.remove() }
        let file = try directory.file("credentials", Array(Self.text.replacing("\n", with: "\r\n").utf8))
        chmod(file, 0o600)
        let plain = try S3AccessKey(.profile("default", file: file)).read()
        #expect((plain.id, plain.secret) == ("AKD", "hush/default+=") && plain.token == nil)
        let temporary = try S3AccessKey(.profile("backup", file: file)).read()
        #expect((temporary.id, temporary.secret) == ("AKB", "hush-backup") && temporary.token == "hush-token")
        for name in ["role", "absent"] {
            let error = #expect(throws: SecretError.self) { try S3AccessKey(.profile(name, file: file)).read() }
            #expect(error?.description.contains("“\(name)”") == true && "\(error as Any)".contains("hush") == false)
        }
        var shown = ""
        dump(temporary, to: &shown)
        #expect(!shown.contains("hush") && !"\(S3AccessKey(.profile("backup", file: file)))".contains("AKB"))
        chmod(file, 0o644)
        let open = #expect(throws: SecretError.self) { try S3AccessKey(.profile("default", file: file)).read() }
        #expect(open?.description.contains("chmod 600") == true)
    }
}
