/** Corrects the roles and names of GraphiQL that screen readers cannot use. */
export function watchAccessibility(root: HTMLElement): void {
  new MutationObserver(() => {
    showTabsAsList(root)
    showQueriesOfHistory(root)
  }).observe(root, {
    childList: true,
    subtree: true,
    attributeFilter: ['class', 'aria-selected', 'aria-label'],
  })
}

/**
 * Makes the tabs a list of buttons. GraphiQL puts a button into each element with the role `tab`, and a screen reader does not
 * show what is inside of such an element.
 */
function showTabsAsList(root: HTMLElement): void {
  for (const list of root.querySelectorAll('.graphiql-tabs')) {
    list.removeAttribute('role')
    for (const tab of list.querySelectorAll('.graphiql-tab')) {
      tab.removeAttribute('role')
      tab.removeAttribute('aria-selected')
      const button = tab.querySelector('.graphiql-tab-button')
      button?.setAttribute('aria-current', `${tab.classList.contains('graphiql-tab-active')}`)
    }
  }
}

/** Names the entries of the history by their query. GraphiQL names all of them "Set active". */
function showQueriesOfHistory(root: HTMLElement): void {
  for (const entry of root.querySelectorAll('.graphiql-history-item-label'))
    entry.removeAttribute('aria-label')
}
