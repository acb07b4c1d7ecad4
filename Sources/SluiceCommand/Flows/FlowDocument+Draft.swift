internal import Commands
internal import FlowText
internal import Queue

extension FlowDocument {
    /// The flow of the document: operations check the payloads.
    /// - Parameter file: the name of the document for errors; nil for standard input.
    /// - Throws: ``ExitError`` with file, line and node.
    func draft(_ data: DataOptions, file: String?) async throws -> FlowDraft {
        let registries = SubmitRegistries(data)
        let types = (nodes + callbacks.map(\.node)).map(\.type)
        let builder = FlowBuilder(registry: await registries.lookup(for: types))
        do throws(FlowBuildError) {
            return try builder.flow(self)
        } catch {
            let exitError = ExitError(error.cause)
            let place = FlowDocumentError(
                file: file, position: error.position, node: error.node,
                problem: exitError.message ?? "it cannot be used")
            throw ExitError(exitError.code, place.description)
        }
    }
}
