/// How the packets of a destination leave this host, according to the kernel's routing table.
package enum Route: Sendable, Hashable {
    /// By a default route, which other destinations share. The caller names it; the main one has the empty
    /// name.
    case uplink(String)
    /// Over loopback or into the file system: no network lies between, so concurrency starts at its limit.
    case local
    /// There is no route, according to the kernel.
    case missing(LinkReason)
}
