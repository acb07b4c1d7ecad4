package import Logging
package import Operations
package import Queue
package import Uploads

/// A part of the door in addition to its uploads: endpoints, and work in the background.
package protocol DoorPart: Sendable {
    /// Called once, before the door listens.
    /// - Throws: an error that ends the door.
    func endpoints(_ context: DoorContext) async throws -> [Endpoint]
    /// Works until its task is cancelled. An error ends the door.
    func run(_ context: DoorContext) async throws
    /// Called when a graceful shutdown begins: responses that last should end. It must not block.
    func shutDown()
    /// Called after each response, on the task of its connection: it must not block.
    func observe(_ request: CompletedRequest)
}

extension DoorPart {
    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] { [] }
    package func run(_ context: DoorContext) async throws {}
    package func shutDown() {}
    package func observe(_ request: CompletedRequest) {}
}

/// The services of a door that its parts use.
package struct DoorContext: Sendable {
    package var client: SluiceClient
    package var uploads: UploadEngine
    package var routes: UploadRoutes
    /// The operations that check the payloads of a type.
    package var registry: @Sendable (String) throws -> OperationRegistry
    package var authenticator: Authenticator
    package var configuration: DoorConfiguration
    package var statistics: DoorStatistics
    /// Nil: the door has no TLS.
    package var certificate: CertificateSource?
    package var logger: Logger

    /// As in ``DoorServerConfiguration/basePath``.
    package var basePath: String { configuration.basePath }
}
