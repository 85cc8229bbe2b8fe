//! Values that stand as strings in a scenario.

/// Serde and schema of a type whose `FromStr` reads what its `Display` writes.
///
/// Takes the type, what is expected in place of anything but a string (a bare number lacks its unit), the pattern of
/// the schema, and what makes an error of serde of one of `FromStr`.
#[macro_export]
macro_rules! text_form {
    ($form:ident, $expected:expr, $pattern:expr, $error:expr) => {
        impl serde::Serialize for $form {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $form {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextVisitor;

                impl serde::de::Visitor<'_> for TextVisitor {
                    type Value = $form;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "{}", $expected)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$form, E> {
                        text.parse().map_err($error)
                    }
                }

                deserializer.deserialize_any(TextVisitor)
            }
        }

        impl schemars::JsonSchema for $form {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($form).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}
