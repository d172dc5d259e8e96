/** Citations in comments of the source (`Source: decisions, Gate`) name existing sections of the maintainer pages. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readSources, root } from './source-files.js'

/** `{ file: 'src/auth/gate.ts', page: 'decisions', section: 'Gate' }` */
interface Citation {
  readonly file: string
  readonly page: string
  readonly section: string
}

/** @returns the citations after `Source:` in comments. Other documents, such as RFCs, are not checked */
function citations(file: string, text: string): Citation[] {
  const comments = text.match(/\/\*\*?[^]*?\*\//g) ?? []
  const plain = comments.map((comment) => comment.replace(/\s*\n\s*\*\s?/g, ' '))
  const cited = plain.flatMap((comment) => comment.match(/\bSources?: [^]*$/g) ?? [])
  return cited.flatMap((source) =>
    [
      ...source.matchAll(
        /(?<!GraphQL |Connections )\b(decisions|specification|public API|architecture)(?:,| on) ([^;.]*)/g,
      ),
    ].map(([, page = '', names = '']) => ({
      file,
      page: page.toLowerCase(),
      section: first(names),
    })),
  )
}

/** `"Status" and "Error entries"` → `status`. Items of a section are not checked. */
function first(names: string): string {
  const [name = ''] = names.split(/,| and /)
  return name
    .replace(/["`*/]/g, '')
    .replace(/(?: [\d, to]+)+$/, '')
    .trim()
    .toLowerCase()
}

/** @returns headings, first cells of table rows, and bold beginnings of list items */
function sections(...pages: readonly string[]): ReadonlySet<string> {
  const text = pages
    .map((page) => readFileSync(join(root, 'docs/maintainers', `${page}.md`), 'utf8'))
    .join('\n')
  const named = [
    ...text.matchAll(/^#+ (.+)$/gm),
    ...text.matchAll(/^\| ([^|]+?) *\|/gm),
    ...text.matchAll(/^- \*\*(.+?)\.?\*\*/gm),
  ]
  return new Set(named.map(([, name = '']) => name.replace(/["`]/g, '').trim().toLowerCase()))
}

const sectionsByPage: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['decisions', sections('decisions', 'decisions-data')],
  ['specification', sections('specification')],
  ['architecture', sections('architecture')],
])

function exists({ page, section }: Citation): boolean {
  if (page === 'public api') {
    return [`${section}.md`, `${section}/README.md`].some((file) =>
      existsSync(join(root, 'docs', file)),
    )
  }
  return [...(sectionsByPage.get(page) ?? [])].some(
    (name) => name === section || name.startsWith(section),
  )
}

describe('the sources that the code cites', () => {
  const found = [...readSources('src'), ...readSources('client')].flatMap(({ path, text }) =>
    citations(path, text),
  )

  it('are found', () => {
    expect(found.length).toBeGreaterThan(100)
  })

  it('exist in the maintainer pages', () => {
    expect(found.filter((citation) => !exists(citation))).toEqual([])
  })
})
