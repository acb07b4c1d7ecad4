/// The failure of a child to start. A child that is tried again every few seconds fails in the same way for hours, and one
/// log of the cause is enough. Pure.
struct StartFailure: Sendable, Equatable {
    private let status: ChildExit.Status
    private let lines: Set<[UInt8]>

    /// Nil for a child that was killed: it may have run well until then.
    /// - Parameter lastLines: of the child's standard error, as ``StandardErrorRelay`` remembers them.
    init?(_ status: ChildExit.Status, _ lastLines: [String]) {
        if case .signaled = status { return nil }
        self.status = status
        lines = Set(lastLines.map { Self.key(of: Array($0.utf8)[...]) })
    }

    /// Whether a line of another run says the same.
    func has(_ line: ArraySlice<UInt8>) -> Bool { lines.contains(Self.key(of: line)) }

    /// The line without digits: each run has other times and process ids. Without its last four bytes too, where a
    /// remembered line may have been cut within a character.
    private static func key(of line: ArraySlice<UInt8>) -> [UInt8] {
        line.prefix(StandardErrorRelay.maxRemembered - 4).filter {
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }
}
