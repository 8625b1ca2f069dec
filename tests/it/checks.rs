//! What many tests expect of one call: a result, or a refusal that names something.

use anyhow::Result;
use serde_json::Value;
use tests::Run;

/// The call answers exactly this JSON.
pub(crate) async fn check(run: &Run, name: &str, arguments: Value, expected: Value) -> Result<()> {
    let result = run.call(name, arguments.clone()).await?;
    assert_eq!(
        result.metadata["error"],
        Value::Null,
        "{arguments}: {result:?}"
    );
    assert_eq!(result.json(), expected, "{arguments}");
    Ok(())
}

/// The call is refused with words that begin so and have `word` in them.
pub(crate) async fn check_refused(
    run: &Run,
    name: &str,
    arguments: Value,
    begin: &str,
    word: &str,
) -> Result<()> {
    let result = run.call(name, arguments.clone()).await?;
    assert!(result.content.starts_with(begin), "{arguments}: {result:?}");
    assert!(
        result.content.contains(word),
        "{arguments}, {word}: {result:?}"
    );
    Ok(())
}
