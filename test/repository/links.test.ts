/** Links between the pages of the documentation lead to existing pages and headings. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { root } from './source-files.js'

const pages = [
  ...['README.md', 'CHANGELOG.md'],
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('node_modules/'))
    .map((name) => join('docs', name)),
]

/** The text of a page without code blocks, whose brackets are not links. */
function read(page: string): string {
  return readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
}

/** The anchors that GitHub makes of headings: lower case, hyphens for spaces, without punctuation. */
function anchors(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

function links(page: string): string[] {
  const targets = [...read(page).matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g)]
  return targets.map(([, link, image]) => link ?? image ?? '').filter((to) => !/^\w+:|^\//.test(to))
}

/** @returns the page that a link leads to, relative to the root, and the heading */
function resolveLink(page: string, to: string): { target: string; anchor: string } {
  const [path = '', anchor = ''] = to.split('#')
  const target = path === '' ? page : relative(root, resolve(root, dirname(page), path))
  return { target, anchor }
}

describe('the documentation', () => {
  it.each(pages)('has no broken link in %s', (page) => {
    const broken = links(page).filter((to) => {
      const { target, anchor } = resolveLink(page, to)
      if (!existsSync(join(root, target))) return true
      return anchor !== '' && !anchors(target).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  it('links to all of its pages from the README or the maintainer pages', () => {
    const reached = new Set([
      'README.md',
      'CONTRIBUTING.md',
      'docs/maintainers/README.md',
      'docs/README.md',
    ])
    for (const page of reached)
      if (pages.includes(page))
        for (const to of links(page)) reached.add(resolveLink(page, to).target)
    const unreached = pages.filter((page) => page.startsWith('docs') && !reached.has(page))
    expect(unreached).toEqual([])
  })

  it('has every page in the navigation of the site once', async () => {
    const config = pathToFileURL(join(root, 'docs/.vitepress/config.mjs')).href
    const { navigation } = (await import(config)) as {
      navigation: { pages: { path: string }[] }[]
    }
    const listed = navigation.flatMap(({ pages }) => pages.map(({ path }) => `docs/${path}`))
    expect(listed.sort()).toEqual(pages.filter((page) => page.startsWith('docs/')).sort())
  })
})
