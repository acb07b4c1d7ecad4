/// An object as HEAD describes it.
struct S3Object: Sendable, Equatable {
    enum Origin: Sendable, Equatable {
        /// This command has made the object.
        case ours
        /// Another client has made it, or this command with other bytes.
        case foreign
    }

    /// Bytes; nil where the answer does not say.
    var size: Int64?
    /// Without quotes.
    var etag: String?
    /// The value of the metadata `sluice-command`.
    var command: String?
    var versionID: String?

    /// - Parameters:
    ///   - command: the id of the command.
    ///   - size: bytes of the file.
    ///   - tag: the tag that the object must have if this command made it; nil where it is not known
    ///     (``S3Tag/composite(of:)``).
    func origin(command: String, size: Int64, tag: String?) -> Origin {
        guard self.size == size else { return .foreign }
        if self.command == command { return .ours }
        // An endpoint that drops metadata is known by the tag, which has the content of every part in it.
        return self.command == nil && tag != nil && etag?.lowercased() == tag ? .ours : .foreign
    }
}
