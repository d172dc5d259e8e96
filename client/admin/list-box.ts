/** The options of a text field that suggests, as both the picker of rows and the jump dialog show them. Source: ARIA, combobox. */

/** Marks the option at the index as the one that Enter chooses, and scrolls to it. */
export function markOption(box: HTMLElement, list: HTMLElement, index: number): void {
  for (const [place, option] of [...list.children].entries()) {
    option.setAttribute('aria-selected', String(place === index))
    if (place !== index) continue
    box.setAttribute('aria-activedescendant', option.id)
    option.scrollIntoView({ block: 'nearest' })
  }
}
