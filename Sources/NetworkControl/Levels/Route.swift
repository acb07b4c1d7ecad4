/// How the packets of a destination leave this host, as the kernel's routing table says.
package enum Route: Sendable, Hashable {
    /// By a default route, which other destinations share. The name is the caller's; the main one has the empty name.
    case uplink(String)
    /// Over loopback or into the file system: no network lies between, so concurrency starts at its limit.
    case local
    /// There is none. The sentence says what the kernel said.
    case missing(reason: String)
}
