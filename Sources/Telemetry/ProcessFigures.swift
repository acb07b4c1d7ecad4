internal import Glibc
internal import Host

/// The figures of this process, by the names that clients of Prometheus have in common.
enum ProcessFigures {
    static var families: [MetricFamily] {
        var families = [
            MetricFamily("process_cpu_seconds_total", .counter, value: cpuSeconds),
            MetricFamily("process_open_fds", .gauge, value: Double(openDescriptors)),
        ]
        if let memory { families.append(MetricFamily("process_resident_memory_bytes", .gauge, value: memory)) }
        if let limit { families.append(MetricFamily("process_max_fds", .gauge, value: limit)) }
        if let startTime { families.append(MetricFamily("process_start_time_seconds", .gauge, value: startTime)) }
        return families
    }

    private static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Field 2 of /proc/self/statm: pages that are in memory.
    private static var memory: Double? {
        guard let text = TextFile.read("/proc/self/statm") else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { return nil }
        return pages * Double(sysconf(CInt(_SC_PAGESIZE)))
    }

    private static var openDescriptors: Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            // The other entries are `.` and `..`.
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // Not the descriptor of this listing.
        return count - 1
    }

    private static var limit: Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < .max else {
            return nil
        }
        return Double(limit.rlim_cur)
    }

    /// Unix seconds.
    private static let startTime: Double? = {
        guard let ticks = ProcessIdentity.startTime(of: getpid()), let text = TextFile.read("/proc/stat"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let boot = Double(line.dropFirst(6))
        else { return nil }
        return boot + Double(ticks) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }()
}
