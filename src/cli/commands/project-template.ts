/**
 * Writes the files of a new project from the folder `templates`: the files of all projects, then the files of the chosen
 * database, tests and page. The `choice.json` of each choice has its additions to package.json.
 */
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import {
  findOrigin,
  packageFolder,
  readOwnPackage,
  type PackageFile,
  type PackageOrigin,
} from '../package-files.js'

/** A template that can be chosen for a part of the project. */
export interface Choice {
  readonly name: string
  /** Description for the question. */
  readonly title: string
  readonly isDefault: boolean
  readonly folder: string
  /** Names of packages. Their versions are the ones that filigree is tested with. */
  readonly dependencies: readonly string[]
  readonly devDependencies: readonly string[]
  /** Additions to package.json. */
  readonly package: Readonly<Record<string, object>>
}

export interface ProjectParts {
  readonly records: Choice
  readonly tests: Choice
  readonly page: boolean
}

const templates = join(packageFolder, 'templates')

/** @returns the choices of a part, the default first */
export async function readChoices(part: 'records' | 'tests'): Promise<readonly Choice[]> {
  const names = await readdir(join(templates, part))
  const choices = await Promise.all(
    names.map(async (name): Promise<Choice> => {
      const folder = join(templates, part, name)
      const text = await readFile(join(folder, choiceFile), 'utf8')
      const file = JSON.parse(text) as Partial<Choice> & { title: string; default?: boolean }
      return {
        ...{ name, folder, title: file.title, isDefault: file.default === true },
        ...{ dependencies: file.dependencies ?? [], devDependencies: file.devDependencies ?? [] },
        package: file.package ?? {},
      }
    }),
  )
  return choices.sort((a, b) => Number(b.isDefault) - Number(a.isDefault))
}

const choiceFile = 'choice.json'

/** @param folder absolute path of an empty folder, which is created if necessary */
export async function writeProject(folder: string, parts: ProjectParts): Promise<void> {
  const name = toPackageName(basename(folder))
  await mkdir(folder, { recursive: true })
  const sources = [
    join(templates, 'base'),
    parts.records.folder,
    parts.tests.folder,
    ...(parts.page ? [join(templates, 'page')] : []),
  ]
  for (const source of sources) await copyTemplate(source, folder, name)
  const filigreePackage = await readOwnPackage()
  const dependency = await copyPackage(await findOrigin(filigreePackage), folder)
  const text = JSON.stringify(toPackageFile(name, dependency, filigreePackage, parts), null, 2)
  await writeFile(join(folder, 'package.json'), `${text}\n`)
}

/** Copies a template. Names that begin with `_` get a dot instead, because npm does not pack files such as `.gitignore`. */
async function copyTemplate(source: string, folder: string, name: string): Promise<void> {
  for (const entry of await readdir(source, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || entry.name === choiceFile) continue
    const path = join(entry.parentPath, entry.name)
    const target = join(folder, relative(source, path).replace(/(^|[\\/])_/g, '$1.'))
    await mkdir(dirname(target), { recursive: true })
    const text = await readFile(path, 'utf8')
    await writeFile(target, text.replaceAll('{{name}}', name))
  }
}

/** Copies a local tarball into the project, so that other machines can install it. @returns the dependency's version */
async function copyPackage(origin: PackageOrigin, folder: string): Promise<string> {
  if (origin.from === 'registry') return origin.version
  if (origin.from === 'folder') return `file:${toPosix(relative(folder, origin.path))}`
  const file = `vendor/${basename(origin.path)}`
  await mkdir(join(folder, 'vendor'), { recursive: true })
  await copyFile(origin.path, join(folder, file))
  return `file:${file}`
}

function toPackageFile(
  name: string,
  filigree: string,
  { devDependencies: versions, peerDependencies: peers }: PackageFile,
  { records, tests }: ProjectParts,
): object {
  const added = [records, tests]
  const versionOf = (one: string): string => versions[one] ?? peers[one] ?? '*'
  const versionsOf = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries([...names].sort().map((one) => [one, versionOf(one)]))
  const { scripts, ...packageFields } = merge(added.map((choice) => choice.package))
  return {
    ...{ name, version: '0.0.0', private: true, type: 'module' },
    engines: { node: '>=20.19' },
    scripts: {
      dev: 'filigree dev',
      ...scripts,
      types: 'tsc',
      build: 'tsc -p tsconfig.build.json',
      start: 'tsc -p tsconfig.build.json && node dist/main.js',
    },
    ...packageFields,
    dependencies: { filigree, ...versionsOf(records.dependencies) },
    devDependencies: {
      ...versionsOf([
        ...['@types/node', 'tsx'],
        ...added.flatMap(({ devDependencies }) => devDependencies),
      ]),
      // Client generators such as openapi-typescript require this version.
      typescript: versionOf('typescript5').replace('npm:typescript@', ''),
    },
  }
}

function merge(parts: readonly Readonly<Record<string, object>>[]): Record<string, object> {
  const merged: Record<string, object> = {}
  for (const [key, value] of parts.flatMap((part) => Object.entries(part)))
    merged[key] = { ...merged[key], ...value }
  return merged
}

/** @returns the name in package.json: `My Desk` becomes `my-desk` */
export function toPackageName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
  return name === '' ? 'app' : name
}

function toPosix(path: string): string {
  return path.replaceAll('\\', '/')
}
