internal import Commands

extension UploadRoute {
    /// The facts of an upload that has all that the route asks for, to check the route before the first upload.
    /// - Parameters:
    ///   - file: a file that can be read: operations look at it.
    ///   - metadata: values by their keys; others of the route's keys get the value `sample`.
    package func sample(
        file: String, name: String, contentType: String?, metadata: [String: String]
    ) -> RouteFacts {
        var facts = RouteFacts(id: CommandID())
        facts.file = file
        facts.name = name
        facts.contentType = contentType
        facts.metadata = metadata
        facts.token = "0000000000"
        facts.size = 0
        facts.sha256 = [UInt8](repeating: 0, count: 32)
        for case .metadata(let key) in placeholders where metadata[key] == nil { facts.metadata[key] = "sample" }
        return facts
    }
}
