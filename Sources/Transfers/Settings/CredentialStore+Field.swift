package import Commands
package import HTTPClient

extension CredentialStore {
    /// The header field with the credential for a destination, unless the payload sets that field.
    /// - Throws: ``CommandFailure`` of the credential where its file or variable cannot be read.
    package func field(
        for destination: Destination, unlessIn headers: [HTTPField]
    ) async throws -> (name: String, value: String)? {
        guard let credential = self[destination] else { return nil }
        let name = credential.headerName.lowercased()
        guard !headers.contains(where: { $0.isNamed(name) }) else { return nil }
        do {
            return try await BlockingIO.sources.run { try credential.header() }
        } catch is CancellationError {
            throw CommandFailure.stopped("the request to \(destination)")
        } catch {
            throw CommandFailure(.credential, reason: "no credential for \(destination): \(error)")
        }
    }
}
