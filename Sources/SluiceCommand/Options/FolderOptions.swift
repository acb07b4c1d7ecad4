internal import ArgumentParser
internal import FileOps

/// The options of `put` and `s3 put` that choose files.
struct FolderOptions: ParsableArguments {
    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Send only files that match, as in '*.jpg' or '/raw/**'. May be given several times.", valueName: "pattern"
        ))
    var include: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Send no file that matches, as in '*.tmp' or 'cache/'. It wins over --include.", valueName: "pattern"))
    var exclude: [String] = []

    @Flag(
        name: .long,
        help: "Print what would be sent where, with sizes and their sum, and submit nothing. No store is needed.")
    var dryRun = false

    func validate() throws { _ = try filter() }

    /// - Throws: `ValidationError` that names the pattern.
    func filter() throws -> PathFilter {
        do { return try PathFilter(including: include, excluding: exclude) } catch {
            throw ValidationError("\(error).")
        }
    }

    /// How folders are sent, for the help texts of both commands.
    static let discussion = """
        Of a folder each regular file below it is sent, hidden ones too; its path below the folder is kept below --to, which \
        must end in a slash. Symbolic links are not followed; they, devices and files that vanish meanwhile are named and \
        left out, and empty folders are not made. --include and --exclude take patterns: * and ? stop at a slash, ** does \
        not, a slash at the start means the top of the folder, and one at the end a folder. A pattern that matches a \
        folder holds for all below it. A file is sent where an --include matches, or none is given, and no --exclude does.

        A second put of a folder sends each file again. With --unique-key K each file has a key of its own, of K, its path, \
        size and time: then a second put submits only files that are new or have changed, and prints the UUIDs of the others \
        with “existing”, for as long as --unique-for says. A put that is interrupted keeps the commands whose UUIDs it has \
        printed.
        """
}
