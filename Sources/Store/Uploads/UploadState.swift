/// Where an upload stands. The raw values are part of the store.
package enum UploadState: Int, Sendable, CaseIterable {
    /// It takes bytes.
    case open = 0
    /// All bytes are durable. With a route, its command is in the store.
    case complete = 1
    /// It was terminated, has expired, or cannot be completed. Its bytes are deleted.
    case ended = 2
}
