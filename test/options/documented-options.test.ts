/** Every declared option has a comment for editors, and stands on a page of the documentation. Both name its default. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from '@jest/globals'
import { readSources, root } from '../repository/source-files.js'

/** The pages of options, by the beginning of the path of their file in `src/`. */
const pages: Readonly<Record<string, readonly string[]>> = {
  'auth/': ['authentication.md'],
  'bootstrap/': ['configuration.md', 'authentication.md', 'applications.md', 'extending.md'],
  'csv/': ['csv.md'],
  'engines/': ['configuration.md'],
  'extensions/': ['extending.md'],
  'fields/': ['extending.md'],
  'graphql/': ['graphql.md', 'openapi.md'],
  'http/': ['routes.md', 'authentication.md', 'configuration.md', 'client.md'],
  'live/': ['configuration.md'],
  'openapi/': ['openapi.md'],
  'records/': [
    'records/model.md',
    'records/relations.md',
    'records/queries.md',
    'records/search-and-aggregates.md',
    'records/writes.md',
    'records/transactions.md',
    'records/README.md',
    'records/postgresql-in-production.md',
    'partitions.md',
    'access-rules.md',
    'configuration.md',
    'one-time-links.md',
    'extending.md',
  ],
  'routing/': ['routes.md'],
  'serving/': ['testing.md', 'routes.md'],
  'modules/access-log': ['monitoring.md'],
  'modules/admin': ['admin.md'],
  'modules/cache': ['http-modules.md'],
  'modules/compress': ['http-modules.md'],
  'modules/health': ['monitoring.md'],
  'modules/idempotent': ['http-modules.md'],
  'modules/jobs': ['jobs.md'],
  'modules/mail': ['mail.md'],
  'modules/mcp': ['agents.md'],
  'modules/metrics': ['monitoring.md'],
  'modules/oidc': ['signing-in-with-providers.md'],
  'modules/passkeys': ['passkeys.md'],
  'modules/security-headers': ['http-modules.md'],
  'modules/testing': ['testing.md'],
  'modules/throttle': ['rate-limits.md'],
}

interface DocumentedOption {
  /** The path in `src/`. */
  readonly file: string
  readonly name: string
  readonly comment: string
  /** As written in the source; undefined without a literal default. */
  readonly defaultText: string | undefined
}

function readDeclaredOptions(): DocumentedOption[] {
  return readSources('src').flatMap(({ path, text }) => {
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    const found: DocumentedOption[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && node.expression.getText() === 'declareOptions') {
        const [object] = node.arguments
        if (object === undefined || !ts.isObjectLiteralExpression(object)) return
        for (const property of object.properties)
          if (ts.isPropertyAssignment(property) && isListed(property))
            found.push({
              file: path.replace(/^src./, ''),
              name: property.name.getText(),
              comment: ts
                .getJSDocCommentsAndTags(property)
                .map((comment) => comment.getText())
                .join(' '),
              defaultText: /\.default\(([^()]*)\)$/.exec(property.initializer.getText())?.[1],
            })
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
    return found
  })
}

/** Options that only the framework sets, and the fields of a sharded record, stand on no page. */
function isListed({ name, initializer }: ts.PropertyAssignment): boolean {
  return ts.isIdentifier(name) && !initializer.getText().endsWith('.unlisted()')
}

function readPages(file: string): string {
  const place = Object.keys(pages).find((one) => file.startsWith(one)) ?? ''
  const names = pages[place] ?? []
  return names.map((name) => readFileSync(join(root, 'docs', name), 'utf8')).join('\n')
}

const title = ({ file, name }: DocumentedOption): string => `${file} ${name}`

/** The forms of a default in a text: `1_024` is 1,024, 1024 or 1_024. Undefined for a default that no text can show. */
function formsOf(defaultText: string): readonly string[] | undefined {
  if (/^[\d_]+$/.test(defaultText)) {
    const value = Number(defaultText.replaceAll('_', ''))
    return [String(value), value.toLocaleString('en-US')]
  }
  if (/^(?:true|false|'.*')$/.test(defaultText)) return [defaultText.replaceAll("'", '')]
  return undefined
}

const options = readDeclaredOptions()

describe('the declared options', () => {
  it('name their default in their comment', () => {
    const silent = options.filter(({ comment, defaultText }) => {
      const forms = defaultText === undefined ? undefined : formsOf(defaultText)
      return forms !== undefined && !forms.some((form) => comment.includes(form))
    })
    expect(silent.map(title)).toEqual([])
  })

  it('stand on a page of the documentation', () => {
    const missing = options.filter(
      ({ file, name }) => !new RegExp(`\\b${name}\\b`).test(readPages(file)),
    )
    expect(missing.map(title)).toEqual([])
  })

  it('have the default that their page shows', () => {
    const wrong = options.filter(({ file, name, defaultText }) => {
      const forms = defaultText === undefined ? undefined : formsOf(defaultText)
      const lines = readPages(file).split('\n')
      const isRow = (line: string): boolean => line.startsWith(`| \`${name}\``)
      if (forms === undefined || !lines.some(isRow)) return false
      // Modules that share a page may explain an option of the same name in a sentence.
      const places = lines.filter((line) => isRow(line) || !line.startsWith('|'))
      return !places.some((line) => forms.some((form) => line.includes(form)))
    })
    expect(wrong.map(title)).toEqual([])
  })

  it('are found in the sources', () => {
    expect(options.length).toBeGreaterThan(350)
  })
})
