import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A client that a foreign program generates from the description of the API, against a door.
    @Suite(
        .enabled(
            if: isAvailable(PythonScript.has("openapi_spec_validator, openapi_python_client")),
            "deploy/prepare test installs the validator and the generator"))
    struct APIClientTests {
        @Test func `the description is valid, and a client that is generated from it submits a command`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let modules = "openapi_spec_validator, openapi_python_client"
                let python = try #require(PythonScript.interpreter(with: modules))
                let directory = try installation.directory.makeDirectory("client")
                let finished = try await installation.run(
                    program: python,
                    [
                        PythonScript.path("openapi-client.py"), "\(door.origin)/api/v1",
                        DataDirectory(path: installation.data).doorToken, directory,
                    ], within: .seconds(240))
                #expect(finished.code == 0, "\(finished.output)\n\(finished.errors)")
                let result = try finished.json()
                #expect(result["status"] == "new" && result["again"] == "new", "\(result)")
                let id = try #require(result["id"]?.string)
                #expect(try await installation.sluice("status", id, "--json").json()["type"] == "noop")
                let tokens = contents(of: "\(directory)/sluice_client/api/tokens/make_token.py").map {
                    String(decoding: $0, as: UTF8.self)
                }
                #expect(tokens?.contains("NewUploadToken") == true, "the bodies are typed")
            }
        }
    }
}
