/** How the pages, which are written for GitHub, become pages of the site. All are plugins of markdown-it. */
import { posix } from 'node:path'

/** `// SQLite`, `# PostgreSQL` or `-- SQLite` in the first line of a block of code. */
const label = /^(?:\/\/|#|--) (SQLite|PostgreSQL)\n/

/** Blocks of code that follow each other and begin with the name of a database become tabs. */
export function databaseTabs(markdown) {
  markdown.core.ruler.push('database-tabs', ({ tokens, Token }) => {
    const isLabelled = (token) => token?.type === 'fence' && label.test(token.content)
    for (let start = 0; start < tokens.length; start++) {
      let end = start
      while (isLabelled(tokens[end])) end++
      if (end - start < 2) continue
      for (const block of tokens.slice(start, end)) {
        const [comment, name] = label.exec(block.content)
        block.content = block.content.slice(comment.length)
        block.info += ` [${name}]`
      }
      tokens.splice(end, 0, new Token('container_code-group_close', 'div', -1))
      tokens.splice(start, 0, new Token('container_code-group_open', 'div', 1))
      start = end + 1
    }
  })
}

/** The empty heading in the corner of a table becomes a cell, because screen readers announce headings. */
export function emptyHeadings(markdown) {
  markdown.core.ruler.push('empty-headings', ({ tokens }) => {
    tokens.forEach((token, index) => {
      const [, content, close] = tokens.slice(index, index + 3)
      if (token.type === 'th_open' && content.content === '') token.tag = close.tag = 'td'
    })
  })
}

/**
 * Links to files that are no pages lead to the repository. Links to a README lead to the first page of its folder. Pictures in
 * HTML get an address that Vite recognizes as relative.
 */
export function repositoryLinks(markdown, repository) {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    const folder = posix.join('docs', posix.dirname(env.relativePath ?? ''))
    for (const token of tokens.filter(({ type }) => type === 'html_block'))
      token.content = token.content.replace(/\b(src|srcset)="(?=[\w-]+[./])(?!\w+:)/g, '$1="./')
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const to = token.type === 'link_open' ? token.attrGet('href') : null
      if (to === null || /^(?:\w+:|#|\/)/.test(to)) continue
      const [path, anchor] = to.split('#')
      const target = posix.join(folder, path)
      const isPage = target.startsWith('docs/') && target.endsWith('.md')
      const address = isPage ? path.replace(/README\.md$/, 'index.md') : `${repository}/${target}`
      token.attrSet('href', anchor === undefined ? address : `${address}#${anchor}`)
    }
  })
}

const picture = /<!-- picture: (\S+)(?: (\S+))? "([^"]*)" -->/g

/**
 * `<!-- picture: list.png "Words" -->` becomes a picture, with a second name in light and in dark. The pages of the package have no
 * pictures, and no links to them.
 */
export function pictures(markdown) {
  markdown.core.ruler.before('normalize', 'pictures', (state) => {
    state.src = state.src.replace(picture, (_, light, dark, alt) =>
      dark === undefined
        ? `![${alt}](${light})`
        : `<picture><source media="(prefers-color-scheme: dark)" srcset="./${dark}" /><img src="./${light}" alt="${alt}" /></picture>`,
    )
  })
}

/** `synonyms: [csrf, login]` at the beginning of a page are words for the search, which the page does not show. */
export function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env)
  const { synonyms = [] } = env.frontmatter ?? {}
  return html.replace('</h1>', () => `</h1>\n<p>${synonyms.join(', ')}</p>`)
}
