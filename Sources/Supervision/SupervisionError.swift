package import Host

package enum SupervisionError: Error, Sendable, CustomStringConvertible {
    /// One child died so often that starting it again is hopeless; the others were stopped.
    case hopeless(ChildExit, deaths: Int, window: Duration)
    /// The supervisor's own resources: descriptors or threads.
    case system(SystemError)

    package var description: String {
        switch self {
        case .hopeless(let exit, let deaths, let window):
            let said =
                exit.lastLines.isEmpty ? "it said nothing" : "it said last:\n" + exit.lastLines.joined(separator: "\n")
            return "\(exit.name) died \(deaths) times in \(window), the last time with \(exit.status); \(said)"
        case .system(let error): return "\(error)"
        }
    }
}
