/** Reads the public API of a package: each exported name of each entry, with its declaration as text. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export type PublicApi = ReadonlyMap<string, string>

interface PackageFile {
  readonly name: string
  readonly exports: Readonly<Record<string, { readonly types?: string } | string>>
}

/**
 * @param folder the folder of an installed package
 * @returns the declaration of each name, as `filigree/cache CacheFor`, without comments
 */
export function readPublicApi(folder: string): PublicApi {
  const text = readFileSync(join(folder, 'package.json'), 'utf8')
  const { name, exports } = JSON.parse(text) as PackageFile
  const entries = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'string' || target.types === undefined
      ? []
      : [{ entry: join(name, entry), path: join(folder, target.types) }],
  )
  const program = ts.createProgram(
    entries.map(({ path }) => path),
    { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, skipLibCheck: true },
  )
  const checker = program.getTypeChecker()
  const printer = ts.createPrinter({ removeComments: true })
  const declarations = new Map<string, string>()
  for (const { entry, path } of entries) {
    const file = program.getSourceFile(path)
    const symbol = file === undefined ? undefined : checker.getSymbolAtLocation(file)
    for (const exported of symbol === undefined ? [] : checker.getExportsOfModule(symbol)) {
      const target =
        exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const texts = (target.declarations ?? []).map((node) =>
        printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()),
      )
      declarations.set(`${entry} ${exported.name}`, texts.join('\n'))
    }
  }
  return declarations
}

/** @returns the names that were removed, changed and added */
export function comparePublicApis(before: PublicApi, after: PublicApi) {
  return {
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after.keys()].filter(
      (name) => before.has(name) && before.get(name) !== after.get(name),
    ),
    added: [...after.keys()].filter((name) => !before.has(name)),
  }
}
