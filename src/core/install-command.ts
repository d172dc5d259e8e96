/** The command that installs a package on this runtime, for messages about a missing one. */

/** `npm install pg`, `bun add pg`, `deno add npm:pg`. */
export function installCommand(
  name: string,
  versions: Readonly<Partial<Record<string, string>>> = process.versions,
): string {
  if (versions.bun !== undefined) return `bun add ${name}`
  if (versions.deno !== undefined) return `deno add npm:${name}`
  return `npm install ${name}`
}
