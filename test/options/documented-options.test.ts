/** Every declared option of a module has a comment for editors, and stands on its page. Both name its default. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from '@jest/globals'
import { readSources, root } from '../repository/source-files.js'

/** The pages of the modules' options, by the folder of the module. */
const pages: Readonly<Record<string, string>> = {
  'access-log': 'docs/monitoring.md',
  admin: 'docs/admin.md',
  cache: 'docs/http-modules.md',
  compress: 'docs/http-modules.md',
  health: 'docs/monitoring.md',
  idempotent: 'docs/http-modules.md',
  jobs: 'docs/jobs.md',
  mail: 'docs/mail.md',
  mcp: 'docs/agents.md',
  metrics: 'docs/monitoring.md',
  oidc: 'docs/signing-in-with-providers.md',
  passkeys: 'docs/passkeys.md',
  'security-headers': 'docs/http-modules.md',
  testing: 'docs/testing.md',
  throttle: 'docs/rate-limits.md',
}

interface DocumentedOption {
  readonly module: string
  readonly name: string
  readonly comment: string
  /** As written in the source; undefined without a literal default. */
  readonly defaultText: string | undefined
}

function readDeclaredOptions(): DocumentedOption[] {
  return readSources('src/modules').flatMap(({ path, text }) => {
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    const found: DocumentedOption[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && node.expression.getText() === 'declareOptions') {
        const [object] = node.arguments
        if (object === undefined || !ts.isObjectLiteralExpression(object)) return
        for (const property of object.properties)
          if (ts.isPropertyAssignment(property))
            found.push({
              module: path.split('/')[2] ?? '',
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

describe('the declared options of modules', () => {
  it('name their default in their comment', () => {
    const silent = options.filter(({ comment, defaultText }) => {
      const forms = defaultText === undefined ? undefined : formsOf(defaultText)
      return forms !== undefined && !forms.some((form) => comment.includes(form))
    })
    expect(silent.map(({ module, name }) => `${module} ${name}`)).toEqual([])
  })

  it('stand on the page of their module', () => {
    const missing = options.filter(({ module, name }) => {
      const page = readFileSync(join(root, pages[module] ?? ''), 'utf8')
      return !new RegExp(`\\b${name}\\b`).test(page)
    })
    expect(missing.map(({ module, name }) => `${module} ${name}`)).toEqual([])
  })

  it('have the default that their page shows', () => {
    const wrong = options.filter(({ module, name, defaultText }) => {
      const forms = defaultText === undefined ? undefined : formsOf(defaultText)
      const page = readFileSync(join(root, pages[module] ?? ''), 'utf8')
      const lines = page.split('\n')
      const isRow = (line: string): boolean => line.startsWith(`| \`${name}\``)
      if (forms === undefined || !lines.some(isRow)) return false
      // Modules that share a page may explain an option of the same name in a sentence.
      const places = lines.filter((line) => isRow(line) || !line.startsWith('|'))
      return !places.some((line) => forms.some((form) => line.includes(form)))
    })
    expect(wrong.map(({ module, name }) => `${module} ${name}`)).toEqual([])
  })

  it('are found in the sources', () => {
    expect(options.length).toBeGreaterThan(60)
  })
})
