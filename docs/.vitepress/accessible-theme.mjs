/** A plugin of Vite that corrects the roles of the default theme's controls, for which VitePress has no options. */
import { basename } from 'node:path'

/** For each component, texts and what replaces them. */
const changes = {
  'VPSidebarItem.vue': [
    // The title of a group is a button, so the arrow in it is a picture.
    [/role="button"\s+aria-label="toggle section"/, 'aria-hidden="true"'],
    [/(@keydown\.enter="onCaretClick")\s+tabindex="0"/, '$1'],
    [
      ':role="itemRole"',
      ':role="itemRole" :aria-expanded="item.items && itemRole ? !collapsed : undefined"',
    ],
    [
      /if \('key' in e && e\.key !== 'Enter'\) \{\s+return/,
      "if ('key' in e && (e.key === ' ' ? e.preventDefault() : e.key !== 'Enter')) {\n    return",
    ],
  ],
  // A dialog with a field and a list of links.
  'VPLocalSearchBox.vue': [
    [
      /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/,
      'role="dialog" aria-modal="true"',
    ],
    [/:role="results\?\.length \? 'listbox' : undefined"/, ''],
    [/:aria-selected="[^"]*"\s+role="option"/, ''],
    // The text of a link is its name.
    [/:aria-label="\[\.\.\.p\.titles, p\.title\][^"]*"/, ''],
    [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
  ],
  // The name contains the visible text, which a phone does not show.
  'VPNavBarSearchButton.vue': [[/:aria-label(?=="translate)/, ':title']],
  // At the width of a phone it is outside all other landmarks.
  'VPLocalNav.vue': [[':class="classes"', ':class="classes" role="navigation" aria-label="Page"']],
}

export const accessibleTheme = {
  name: 'accessible-theme',
  enforce: 'pre',
  transform(code, id) {
    const name = basename(id)
    if (!id.includes('theme-default') || !Object.hasOwn(changes, name)) return undefined
    return changes[name].reduce((text, [from, to]) => {
      const changed = text.replace(from, to)
      if (changed === text) throw new Error(`${name} does not contain ${from} any more.`)
      return changed
    }, code)
  },
}
