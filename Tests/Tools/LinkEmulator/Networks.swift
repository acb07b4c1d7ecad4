import CLinux
import Glibc

/// The two networks. They exist as long as this process holds their descriptors or a process runs in them.
struct Networks {
    enum Side { case client, server }

    let client: CInt
    let server: CInt
    /// The congestion control of every connection. The routes set it, because the system setting accepts only
    /// those in `net.ipv4.tcp_allowed_congestion_control`, which often lacks cubic.
    private let congestion: String

    /// Uses the namespace of this process for the client, and makes another one for the servers.
    init(congestion: String) throws {
        self.congestion = congestion
        client = try Self.current()
        guard clinux_new_network_namespace() == 0 else {
            throw Refusal.system("no network of its own (start it under “unshare -Urn”)")
        }
        server = try Self.current()
        for side in [Side.client, .server] {
            try within(side) {
                try execute("ip", "link", "set", "lo", "up")
                for (name, value) in Self.settings { try Self.write(value, to: "/proc/sys/net/\(name)") }
            }
        }
    }

    /// The settings on which figures would otherwise depend: defaults of the machine, and metrics of earlier
    /// transfers in the kernel.
    private static let settings = [
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_rmem", "4096 131072 6291456"),
        ("ipv4/tcp_wmem", "4096 16384 4194304"),
    ]

    func within<Result>(_ side: Side, _ body: () throws -> Result) throws -> Result {
        guard clinux_enter_network_namespace(side == .client ? client : server) == 0 else {
            throw Refusal.system("cannot enter the network of the \(side)")
        }
        return try body()
    }

    /// Sets the address of the client and its route to the servers.
    func addressClient(_ device: String) throws {
        try within(.client) {
            try execute("ip", "address", "add", "10.77.0.1/32", "dev", device)
            try execute("ip", "link", "set", device, "up", "mtu", "1500", "txqueuelen", "2000")
            try execute("ip", "route", "add", "default", "dev", device, "src", "10.77.0.1", "congctl", congestion)
        }
    }

    func addressServers(_ device: String, count: Int) throws {
        try within(.server) {
            for number in 1...count { try execute("ip", "address", "add", "10.77.\(number).1/32", "dev", device) }
            try execute("ip", "link", "set", device, "up", "mtu", "1500", "txqueuelen", "2000")
            try execute("ip", "route", "add", "default", "dev", device, "congctl", congestion)
        }
    }

    /// Ends every process in the two networks by its id.
    func empty() {
        let own = getpid()
        let networks = [client, server].compactMap(Self.identity(of:))
        // The next round finds processes that were started meanwhile.
        for _ in 0..<10 {
            let inside = Self.processes().filter { process in
                process != own && Self.identity(ofProcess: process).map(networks.contains) == true
            }
            if inside.isEmpty { return }
            for process in inside { kill(process, SIGKILL) }
        }
    }

    private static func current() throws -> CInt {
        let descriptor = clinux_open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Refusal.system("/proc/self/ns/net") }
        return descriptor
    }

    private static func identity(of descriptor: CInt) -> UInt64? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private static func identity(ofProcess process: pid_t) -> UInt64? {
        var status = stat()
        return stat("/proc/\(process)/ns/net", &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private static func processes() -> [pid_t] {
        guard let listing = opendir("/proc") else { return [] }
        defer { closedir(listing) }
        var processes: [pid_t] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let process = pid_t(name) { processes.append(process) }
        }
        return processes
    }

    private static func write(_ text: String, to path: String) throws {
        let descriptor = clinux_open(path, O_WRONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Refusal.system(path) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Refusal.system("“\(text)” in \(path)")
        }
    }
}

/// Runs a program of iproute2 to its end in the network of the calling thread.
func execute(_ arguments: String...) throws {
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/sbin:/sbin:/usr/bin:/bin"), nil]
    defer { for pointer in pointers + environment { free(pointer) } }
    var process: pid_t = 0
    var failure: CInt = ENOENT
    for directory in ["/usr/sbin", "/sbin", "/usr/bin", "/bin"] where failure == ENOENT {
        failure = posix_spawn(&process, "\(directory)/\(arguments[0])", nil, nil, &pointers, &environment)
    }
    guard failure == 0 else { throw Refusal("cannot run \(arguments[0]): \(String(cString: strerror(failure)))") }
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else { throw Refusal("“\(arguments.joined(separator: " "))” failed") }
}
